import SignalboxCore
import SignalboxRoutes

@testable import WebSocketChat

/// A request is admitted only with the token, and only from an allowed origin.
enum UpgradeTarget {
    private static let token = "0123456789abcdef"
    private static let origin = "https://app.example"

    static func run(_ input: [UInt8]) {
        let lines = String(decoding: input, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        func line(_ number: Int) -> String? { lines.indices.contains(number) ? lines[number] : nil }
        var request = UpgradeRequest()
        request.path = line(0) ?? ""
        request.origin = line(1)
        request.authorization = line(2)
        request.subprotocols = Array((line(3) ?? "").split(separator: ",").map(String.init).prefix(32))
        request.query = Array(lines.dropFirst(4).prefix(32))
        guard let policy else { fatalError("the policy cannot be made") }
        guard case .admitted(let admission) = policy.answer(request, noRoom: nil) else { return }
        require(request.path == "/", "the path")
        require(admission.principal == "kiosk", "the token's owner")
        let shown = [request.authorization, line(3)].compactMap(\.self) + request.query
        require(
            shown.contains { $0.contains(token) || $0.contains("MDEyMzQ1Njc4OWFiY2RlZg") },
            "somebody showed the token"
        )
        guard let text = request.origin else { return }
        require((try? WebOrigin(text)) == (try? WebOrigin(origin)), "the origin \(text)")
    }

    private static let policy: UpgradePolicy? = {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        guard let allowed = try? WebOrigin(origin) else { return nil }
        configuration.origins = [allowed]
        configuration.queryTokens = true
        configuration.principals = [WebSocketPrincipal("kiosk", token: .text(token))]
        guard let tokens = try? PrincipalTokens(reading: configuration.principals) else { return nil }
        return UpgradePolicy(configuration, tokens: tokens)
    }()
}
