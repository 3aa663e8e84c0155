#if os(Linux)
import BrokerKit
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct DescriptorTests {
    /// A program that inherits the connection could read from it, and would keep it open.
    @Test func aProgramThatIsStartedGetsNoConnection() async throws {
        try await Broker.with { broker in
            try await broker.publish("1", to: "x", retain: true)
            let command = try PipedCommand(["subscribe", broker.url, "--topic", "x"])
            #expect(await command.lines(1) == 1)
            try withExtendedLifetime(command) {
                var connections: [Descriptor] = []
                // The system's table of connections lacks some while others come and go.
                while connections.isEmpty, !Task.isCancelled {
                    connections = try Self.descriptors(of: command.id, Self.connections(of: command.id))
                }
                #expect(connections.count == 1)
                #expect(connections.allSatisfy { $0.isClosedOnExec })
                // Two of the standard descriptors are pipes; the other pipes wake threads. libmosquitto's own socket pair is
                // out of reach.
                let pipes = try Self.descriptors(of: command.id) { $0.hasPrefix("pipe:") }.filter { $0.number > 2 }
                #expect(!pipes.isEmpty)
                #expect(pipes.allSatisfy { $0.isClosedOnExec }, "\(pipes)")
            }
        }
    }

    private struct Descriptor {
        let number: Int
        let isClosedOnExec: Bool
    }

    /// What each descriptor refers to, and its flags (proc(5)).
    private static func descriptors(of process: Int32, _ isWanted: (String) -> Bool) throws -> [Descriptor] {
        let folder = "/proc/\(process)"
        return try FileManager.default.contentsOfDirectory(atPath: "\(folder)/fd").compactMap { name in
            guard let number = Int(name),
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/fd/\(name)"),
                isWanted(target)
            else { return nil }
            // A descriptor that was closed meanwhile has no file.
            guard
                let facts = try? String(contentsOfFile: "\(folder)/fdinfo/\(name)", encoding: .utf8).split(
                    separator: "\n"
                )
            else { return nil }
            let flags = try #require(facts.first { $0.hasPrefix("flags:") }?.split(separator: "\t").last)
            let value = try #require(Int32(flags, radix: 8))
            return Descriptor(number: number, isClosedOnExec: value & O_CLOEXEC != 0)
        }
    }

    /// The tenth field of each line in a table of TCP connections is the socket's number (proc(5)).
    private static func connections(of process: Int32) throws -> (String) -> Bool {
        let lines = try ["tcp", "tcp6"].flatMap { table in
            try String(contentsOfFile: "/proc/\(process)/net/\(table)", encoding: .utf8).split(separator: "\n")
                .dropFirst()
        }
        let numbers = Set(lines.compactMap { $0.split(separator: " ").dropFirst(9).first.map(String.init) })
        return { target in
            target.hasPrefix("socket:[") && numbers.contains(String(target.dropFirst(8).dropLast()))
        }
    }
}
#endif
