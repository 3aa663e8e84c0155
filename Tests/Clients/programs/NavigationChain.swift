import NavigationChain

let own = try HostHandler(hosts: ["example.com"], name: "own")
let router = try NavigationRouter([own], fallback: NavigationDecision(.cancel, reason: "another host"))
print(own.name, type(of: router))
