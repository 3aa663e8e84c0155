import Foundation
import Testing

@testable import BrokerKit
@testable import SignalboxCommand

/// `signalbox run` with `observe`.
struct ObserveTrial {
    let process: CommandProcess
    let port: UInt16
    let folder: URL

    /// Runs `body` while the program runs, which then ends without an error.
    static func with(
        _ configuration: String,
        files: [String: String] = [:],
        _ body: (ObserveTrial) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            for (name, text) in files { try ChatTrial.write(text, to: name, in: folder) }
            try ProcessTrial.write(configuration, in: folder)
            let process = try CommandProcess(["run", "c.yaml", "--outcomes"], folder: folder, isTyped: true)
            let line = try #require(await process.errors.line(with: "observe: listening on http://"))
            let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0.prefix { $0.isNumber }) })
            try await body(ObserveTrial(process: process, port: port, folder: folder))
            process.signal(SIGTERM)
            #expect([CommandStatus.done, .drainIncomplete].map(\.rawValue).contains(await process.status()))
        }
    }

    /// The status and the body of an answer.
    struct Answer: Equatable {
        let status: Int
        let head: String
        let body: String
    }

    func get(
        _ path: String,
        _ headers: [String] = [],
        method: String = "GET",
        host: String = "127.0.0.1",
        body: String = ""
    ) async throws -> Answer {
        while true {
            let answer = try await answer(path, headers, method: method, host: host, body)
            // On a busy machine the threads may be late.
            guard answer.body.contains("have not answered within") else { return answer }
        }
    }

    private func answer(
        _ path: String,
        _ headers: [String],
        method: String,
        host: String,
        _ body: String
    ) async throws -> Answer {
        let peer = try #require(RawPeer(port: port))
        let lines = ["\(method) \(path) HTTP/1.1", "Host: \(host)", "Connection: close"] + headers
        peer.write(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        let text = String(decoding: await peer.read { _ in false }, as: UTF8.self)
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let status = try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) }, "\(text)")
        return Answer(status: status, head: String(parts[0]), body: String(parts.last ?? ""))
    }

    /// Asks until the program is ready, or not ready for a reason with these words.
    func ready(_ isReady: Bool, _ words: String = "", _ headers: [String] = []) async throws -> Answer {
        while true {
            let answer = try await get("/readyz", headers)
            if (answer.status == 200) == isReady, words.isEmpty || answer.body.contains(words) { return answer }
            #expect([200, 503].contains(answer.status))
        }
    }

    /// The value of a metric, or `nil` if there is none.
    func value(_ line: String) async throws -> Double? {
        let answer = try await get("/metrics")
        #expect(answer.status == 200)
        let lines = answer.body.split(separator: "\n")
        return lines.first { $0.hasPrefix("\(line) ") }?.split(separator: " ").last.flatMap { Double($0) }
    }
}
