import BrokerKit
import Foundation
import WebSocketChat

/// OpenSSL's own server, which requires a client certificate. ``read(until:)`` returns what it receives, and
/// ``write(_:)`` makes it send.
final class OpenSSLServer: Sendable {
    let port: UInt16
    private let program: RunningProgram
    private let input: FileHandle
    private let output: FileHandle

    /// - Parameter more: Further arguments for `openssl s_server`.
    static func start(_ authority: TestAuthority, _ more: [String] = []) async throws -> OpenSSLServer {
        let (input, output) = (Pipe.unshared(), Pipe.unshared())
        let arguments = [
            "s_server", "-accept", "127.0.0.1:0", "-naccept", "1", "-Verify", "1", "-verify_return_error", "-CAfile",
            authority.authorityFile, "-cert", authority.certificateFile, "-key", authority.keyFile,
        ]
        let program = try RunningProgram("openssl", arguments + more, input: input, output: output, errors: nil)
        let text = await readOutput(from: output.fileHandleForReading, of: program) { text in
            text.range(of: "ACCEPT [^\n]*\n", options: .regularExpression) != nil
        }
        let line = text.split(separator: "\n").first { $0.contains("ACCEPT") } ?? ""
        guard let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            program.signal(SIGKILL)
            throw BrokerKitError("openssl s_server does not listen: \(text)")
        }
        return OpenSSLServer(port, program, input.fileHandleForWriting, output.fileHandleForReading)
    }

    private init(_ port: UInt16, _ program: RunningProgram, _ input: FileHandle, _ output: FileHandle) {
        self.port = port
        self.program = program
        self.input = input
        self.output = output
    }

    // A test that throws does not reach `end()`.
    deinit {
        program.signal(SIGKILL)
    }

    /// Returns the server's output once it contains all of these texts, or once the server has ended.
    func read(until texts: [String]) async -> String {
        await OpenSSLServer.readOutput(from: output, of: program) { text in texts.allSatisfy(text.contains) }
    }

    func write(_ text: String) {
        input.write(Data(text.utf8))
    }

    func end() async {
        program.signal(SIGKILL)
        await program.status()
    }

    private static func readOutput(
        from handle: FileHandle,
        of program: RunningProgram,
        until isEnough: @escaping @Sendable (String) -> Bool
    ) async -> String {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    var text = ""
                    while !isEnough(text) {
                        let data = handle.availableData
                        guard !data.isEmpty else { break }
                        text += String(decoding: data, as: UTF8.self)
                    }
                    continuation.resume(returning: text)
                }
            }
        } onCancel: {
            program.signal(SIGKILL)
        }
    }
}

extension TestAuthority {
    /// Makes a client's certificate and key, and a copy of the key that needs a passphrase.
    func makeClient() async throws -> WebSocketIdentity {
        try await makeClientFiles()
        return WebSocketIdentity(certificateFile: path("client.pem"), keyFile: path("client.key"))
    }
}
