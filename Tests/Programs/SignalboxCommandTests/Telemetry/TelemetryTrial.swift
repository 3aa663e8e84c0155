import Foundation
import Testing

@testable import BrokerKit
@testable import SignalboxCommand

/// `signalbox run` with a source `hooks` of HTTP requests.
struct TelemetryTrial {
    let process: CommandProcess
    let port: UInt16
    let folder: URL

    /// Runs `body` once the source listens, and then ends the program with SIGTERM.
    ///
    /// - Parameters:
    ///   - otlp: The value of `otlp`, or `nil` for a program without.
    ///   - plugins: The plugins, each a mapping of one line.
    ///   - sources: Further sources, each a mapping of one line.
    static func with(
        otlp: String?,
        _ plugins: String...,
        sources: String...,
        files: [String: String] = [:],
        environment: [String: String] = [:],
        status: CommandStatus = .done,
        _ body: (TelemetryTrial) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            for (name, text) in files { try ChatTrial.write(text, to: name, in: folder) }
            let text = configuration(otlp: otlp, plugins, sources)
            try ProcessTrial.write(text, in: folder)
            let process = try CommandProcess(["run", "c.yaml", "--outcomes"], environment: environment, folder: folder)
            let line = try #require(await process.errors.line(with: "hooks: listening on http://127.0.0.1:"))
            let digits = line.split(separator: "127.0.0.1:").last?.prefix { $0.isNumber } ?? ""
            try await body(TelemetryTrial(process: process, port: try #require(UInt16(digits)), folder: folder))
            process.signal(SIGTERM)
            #expect(await process.status() == status.rawValue, "\(process.errors.lines)")
        }
    }

    static func configuration(otlp: String?, _ plugins: [String], _ sources: [String] = []) -> String {
        let head = otlp.map { ["otlp: \($0)"] } ?? []
        let all = ["  hooks: { http: { port: 0, anyone: true, routes: ['/{action}'] } }"] + sources.map { "  \($0)" }
        let lines = head + ["sources:"] + all + ["plugins:"] + plugins.map { "  - \($0)" } + ["timeout: 60s"]
        return lines.joined(separator: "\n")
    }

    /// Sends a request and returns the body of the answer.
    func post(_ action: String, _ headers: String..., body: String = "{}", type: String = "application/json")
        async throws
        -> String
    {
        let peer = try #require(RawPeer(port: port))
        let lines = ["POST /\(action) HTTP/1.1", "Host: localhost", "Content-Type: \(type)", "Connection: close"]
        let length = ["Content-Length: \(body.utf8.count)"]
        peer.write((lines + headers + length).joined(separator: "\r\n") + "\r\n\r\n" + body)
        let text = String(decoding: await peer.read { _ in false }, as: UTF8.self)
        return text.split(separator: "\r\n\r\n", maxSplits: 1).dropFirst().first.map(String.init) ?? text
    }

    /// A plugin that replies with 1.
    static let echo = "{ action: echo, use: reply, value: 1, from: [hooks] }"

    /// Sends requests to the plugin that replies with 1.
    func echo(_ count: Int, body: String = "{}") async throws {
        for _ in 0..<count {
            let answer = try await post("echo", body: body)
            #expect(answer == "1")
        }
    }

    /// A plugin that replies with the variables that a program has received.
    static let exec = """
        { action: exec, use: exec, command: [sh, -c, 'printf "\\"%s %s\\"" "$TRACEPARENT" "$TRACESTATE"'], from: [hooks] }
        """

    /// A plugin that replies with the members that a process has received, and the program.
    static let process = "{ action: process, use: process, command: [python3, ./trace.py], from: [hooks] }"
    static let program = """
        import json
        import sys
        for line in sys.stdin:
            call = json.loads(line)
            if "action" in call:
                reply = call.get("traceparent", "") + " " + call.get("tracestate", "")
                print(json.dumps({"id": call["id"], "reply": reply}), flush=True)
        """
}
