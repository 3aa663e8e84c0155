import SignalboxStore

let store = try Store(path: CommandLine.arguments[1])
print(type(of: store))
