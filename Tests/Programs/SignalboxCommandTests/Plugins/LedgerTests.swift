import Foundation
import Testing

@testable import SignalboxCommand

@Suite struct LedgerTests {
    private static func withPath(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appendingPathComponent("l.jsonl").path)
    }

    private static func text(_ path: String) throws -> String {
        String(decoding: try FileContent.read(path, limit: 1 << 20).get(), as: UTF8.self)
    }

    @Test func linesAreAppendedForTheOwnerAlone() async throws {
        try await LedgerTests.withPath { path in
            do {
                let ledger = try Ledger(path: path)
                try await ledger.append(Array("1\n".utf8))
                try await ledger.append(Array("2\n".utf8))
            }
            #expect(try LedgerTests.text(path) == "1\n2\n")
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test func linesThatWaitTogetherAreAllThere() async throws {
        try await LedgerTests.withPath { path in
            let ledger = try Ledger(path: path)
            try await withThrowingTaskGroup { group in
                for number in 0..<500 { group.addTask { try await ledger.append(Array("\(number)\n".utf8)) } }
                try await group.waitForAll()
            }
            let lines = try LedgerTests.text(path).split(separator: "\n")
            #expect(Set(lines.compactMap { Int($0) }) == Set(0..<500))
        }
    }

    @Test func aLineThatWasTornIsEndedFirst() async throws {
        try await LedgerTests.withPath { path in
            try Data("1\n{\"tor".utf8).write(to: URL(fileURLWithPath: path))
            try await Ledger(path: path).append(Array("2\n".utf8))
            #expect(try LedgerTests.text(path) == "1\n{\"tor\n2\n")
        }
    }

    @Test func aSecondOwnerIsRefused() async throws {
        try await LedgerTests.withPath { path in
            let first = try Ledger(path: path)
            #expect(throws: LedgerError.self) { try Ledger(path: path) }
            try await first.append([10])
        }
    }

    @Test(arguments: ["/dev/null", "/", "/nowhere/at/all"]) func whatIsNoRegularFileIsRefused(_ path: String) {
        #expect(throws: LedgerError.self) { try Ledger(path: path) }
    }

    @Test func pathsOfOneFileShareItsLedger() async throws {
        try await LedgerTests.withPath { path in
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: path)
            let table = LedgerTable()
            let ledger = try table.ledger(at: path)
            #expect(try table.ledger(at: "\(folder)/./l.jsonl") === ledger)
            #expect(try table.ledger(at: "\(folder)/link") === ledger)
            #expect(try table.ledger(at: "\(folder)/other.jsonl") !== ledger)
        }
    }
}
