/// Turns a link to a server into a WebSocket: sends the request and reads the answer, without blocking.
package struct UpgradeExchange {
    /// The bytes that one call of the link may return.
    private static let answerBytes = 4_096

    private var upgrade: WebSocketUpgrade
    private var sent = 0
    private var isLinkOpen = false
    /// The server's first frames, which came with its answer.
    package private(set) var first: ArraySlice<UInt8> = []

    package init(_ upgrade: WebSocketUpgrade) {
        self.upgrade = upgrade
    }

    /// What the server has agreed to, once the exchange is complete.
    package var agreement: UpgradeAgreement? { upgrade.agreement }

    /// Whether the request was begun, so that a failure has to do with the server's answer.
    package var hasBegun: Bool { sent > 0 }

    /// Whether a part of the request is left to send. Wait until the link's descriptor is writable.
    package var waitsForWrite: Bool { isLinkOpen && sent < upgrade.head.count }

    /// Continues the link's handshakes, and then the exchange. Call this method until it returns `true`, whenever the
    /// link's descriptor is ready.
    ///
    /// - Returns: Whether the exchange is complete.
    /// - Throws: ``LinkError``. Call no method after that.
    package mutating func advance(over link: any Link) throws(LinkError) -> Bool {
        isLinkOpen = try link.advance()
        guard isLinkOpen else { return false }
        if sent < upgrade.head.count {
            sent += try upgrade.head[sent...].withUnsafeBufferPointer { rest throws(LinkError) in
                try link.write(UnsafeRawBufferPointer(rest))
            }
        }
        return try readAnswer(from: link)
    }

    private mutating func readAnswer(from link: any Link) throws(LinkError) -> Bool {
        var buffer = [UInt8](repeating: 0, count: UpgradeExchange.answerBytes)
        while true {
            let count = try UpgradeExchange.read(from: link, into: &buffer)
            guard count > 0 else { return false }
            guard let end = try parse(buffer[..<count]) else { continue }
            first = buffer[end..<count]
            return true
        }
    }

    private static func read(from link: any Link, into buffer: inout [UInt8]) throws(LinkError) -> Int {
        do throws(LinkError) {
            return try buffer.withUnsafeMutableBufferPointer { buffer throws(LinkError) in
                try link.read(into: UnsafeMutableRawBufferPointer(buffer))
            }
        } catch {
            // A server that does not expect a request may break the connection because it leaves the request unread.
            switch error {
            case .closed, .reset: throw .upgrade(.closed)
            default: throw error
            }
        }
    }

    private mutating func parse(_ bytes: ArraySlice<UInt8>) throws(LinkError) -> Int? {
        do throws(UpgradeProblem) {
            return try bytes.withUnsafeBufferPointer { bytes throws(UpgradeProblem) in
                try upgrade.receive(UnsafeRawBufferPointer(bytes))
            }
        } catch {
            throw .upgrade(error)
        }
    }
}
