#if os(Linux)
import Foundation
import Testing

@testable import BrokerKit
@testable import SignalboxCommand

/// The memory of many HTTP connections that stay open.
@Suite(.timeLimit(.minutes(10))) struct IdleRequestTests {
    /// Sends a request over each of many connections, keeps them all, and prints by how many bytes the resident
    /// memory of the program has grown since the first.
    private static let clients = """
        import re
        import socket
        import sys

        port, program, count = (int(argument) for argument in sys.argv[1:])
        head = b"POST /order HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n"

        def ask(client):
            client.sendall(head + b"{}")
            answer = b""
            while not answer.endswith(b"\\r\\n\\r\\ntrue"):
                part = client.recv(4096)
                assert part, answer
                answer += part
            assert answer.startswith(b"HTTP/1.1 200 OK\\r\\n"), answer

        def memory():
            with open(f"/proc/{program}/status") as status:
                return int(re.search(r"VmRSS:\\s+(\\d+) kB", status.read()).group(1)) * 1024

        held = []
        before = None
        for _ in range(count):
            held.append(socket.create_connection(("127.0.0.1", port), timeout=200))
            ask(held[-1])
            before = before or memory()
        print(memory() - before)
        for client in held:
            ask(client)
        """

    private static let connections = 10_000
    private static let descriptors = connections + 1_000
    /// In a release build the program takes 50 MB without them, so this is a limit of 100 MB in all.
    private static let growthLimit = 50_000_000

    private static let hasDescriptors: Bool = {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 && limit.rlim_max >= descriptors
    }()

    @Test(.enabled(if: hasDescriptors, "a process may not have 11,000 files open"))
    func tenThousandConnectionsTakeLittleMemoryAndAreStillServed() async throws {
        try await TemporaryFolder.with { folder in
            try ProcessTrial.write(
                """
                listeners:
                  web: { port: 0, http_connections: \(Self.descriptors), http_connections_per_address: \(Self.descriptors), keep_alive: 1h }
                sources: { hooks: { http: { listener: web, anyone: true } } }
                plugins: [{ action: order, use: reply, value: true, from: hooks }]
                """,
                in: folder
            )
            let allowing = ["/usr/bin/env", "prlimit", "--nofile=\(Self.descriptors)"]
            let command = try CommandProcess(["run", "c.yaml"], startedBy: allowing, folder: folder)
            let line = try #require(await command.errors.line(with: "hooks: listening on http://127.0.0.1:"))
            let port = line.split(separator: "127.0.0.1:").last?.prefix { $0.isNumber } ?? ""
            let (output, errors) = (folder.appendingPathComponent("memory"), folder.appendingPathComponent("errors"))
            let arguments = [Self.clients, String(port), "\(command.id)", "\(Self.connections)"]
            let clients = try RunningProgram(
                "prlimit",
                ["--nofile=\(Self.descriptors)", "python3", "-c"] + arguments,
                output: output,
                errors: errors
            )
            let status = await clients.status()
            let complaint = try String(contentsOf: errors, encoding: .utf8)
            #expect(status == 0, "\(complaint)")
            let growth = try String(contentsOf: output, encoding: .utf8).prefix { $0.isNumber }
            #expect(try #require(Int(growth)) < Self.growthLimit)
            command.signal(SIGTERM)
            #expect(await command.status() == CommandStatus.done.rawValue)
        }
    }
}
#endif
