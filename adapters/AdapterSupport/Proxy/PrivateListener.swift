/// A unix socket that only this process can connect to. It is in a folder that only its user can enter, and each peer's
/// process is checked.
final class PrivateListener: Sendable {
    /// The longest path that all systems accept (`sun_path` of unix(4) has 104 bytes on macOS, with the NUL).
    private static let pathLimit = 103

    let path: String
    let descriptor: OwnedDescriptor
    private let folder: String

    /// Creates the folder and the socket.
    ///
    /// - Throws: ``ProxyFailure`` `noResources`.
    init() throws(ProxyFailure) {
        folder = try PrivateListener.makeFolder()
        path = "\(folder)/socket"
        guard let socket = StreamSocket.make(AF_UNIX), PrivateListener.listens(socket, at: path) else {
            let reason = StreamSocket.errorText(errno)
            PrivateListener.remove(folder, path)
            throw .noResources("cannot create a socket at \(path): \(reason)")
        }
        descriptor = socket
    }

    deinit {
        PrivateListener.remove(folder, path)
    }

    /// Returns the waiting connection, or `nil` if there is none yet or it is not from this process.
    ///
    /// - Throws: ``ProxyFailure`` `noResources` if no connection can be accepted.
    func accept() throws(ProxyFailure) -> OwnedDescriptor? {
        guard let peer = StreamSocket.accept(on: descriptor) else {
            let code = errno
            guard ![EAGAIN, EWOULDBLOCK, EINTR, ECONNABORTED].contains(code) else { return nil }
            throw .noResources(StreamSocket.errorText(code))
        }
        return StreamSocket.peerProcess(of: peer) == getpid() ? peer : nil
    }

    private static func makeFolder() throws(ProxyFailure) -> String {
        let name = "/signalbox-XXXXXX"
        let preferred = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let isUsable =
            preferred.utf8.first == UInt8(ascii: "/")
            && preferred.utf8.count + name.utf8.count + "/socket".utf8.count <= pathLimit
        let parent = isUsable ? preferred : "/tmp"
        var template = Array("\(parent)\(name)".utf8CString)
        guard mkdtemp(&template) != nil else {
            let reason = StreamSocket.errorText(errno)
            throw .noResources(
                "cannot create a folder in \(parent): \(reason); set TMPDIR to a folder for temporary files"
            )
        }
        return template.withUnsafeBufferPointer { text in text.baseAddress.map { String(cString: $0) } ?? "" }
    }

    private static func listens(_ socket: OwnedDescriptor, at path: String) -> Bool {
        UnixAddress.with(path) { bind(socket.number, $0, $1) == 0 } && listen(socket.number, 1) == 0
    }

    private static func remove(_ folder: String, _ path: String) {
        unlink(path)
        rmdir(folder)
    }
}
