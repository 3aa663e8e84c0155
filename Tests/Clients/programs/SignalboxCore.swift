import SignalboxCore

let body = try Body(json: Bytes(#"{"count":2}"#))
print(try body.decode([String: Int].self))
