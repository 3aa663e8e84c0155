import Foundation

/// A plain socket that takes the connections of clients of this machine, for what no proper server sends.
final class RawHost: Sendable {
    let port: UInt16
    private let socket: Int32

    init?() {
        guard let (socket, port) = try? LoopbackPort.listening() else { return nil }
        self.socket = socket
        self.port = port
    }

    deinit {
        close(socket)
    }

    /// The next connection; `nil` when none comes for longer than a test lasts.
    func accept() async -> RawPeer? {
        // The thread sanitizer does not see that a continuation hands an object over: so it is made here.
        let connection = await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var place = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                let isThere = poll(&place, 1, Int32(RawPeer.patience * 1_000)) > 0
                continuation.resume(returning: isThere ? LoopbackPort.accept(on: socket) : -1)
            }
        }
        return connection < 0 ? nil : RawPeer(socket: connection)
    }
}

extension RawPeer {
    /// Reads a client's request.
    ///
    /// - Returns: the answer that it waits for.
    func upgradeAnswer(adding more: [String] = []) async -> [UInt8] {
        let end = Array("\r\n\r\n".utf8)
        let request = String(decoding: await read { $0.suffix(4) == end[...] }, as: UTF8.self)
        return Array(UpgradeAnswer.text(to: request, adding: more).utf8)
    }

    func answerUpgrade(adding more: [String] = []) async {
        write(await upgradeAnswer(adding: more))
    }
}
