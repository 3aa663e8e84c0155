import BrokerKit
import Foundation
import SignalboxCore
import SignalboxStore
import Testing

/// Runs a `StoreWorker` that fails or dies, and a second one that finds what the first has left.
struct FaultTrial {
    /// What happens to calls that change the store's files.
    enum Fault: String, Sendable, CaseIterable {
        /// One fails as if the disk were defective.
        case io
        /// One fails as if the disk were full.
        case full
        /// Three in a row fail as if the disk were defective.
        case burst
        /// The process is killed at the call.
        case kill
    }

    static let count = 40

    let folder: URL
    private let injector: URL

    /// - Parameter parent: A folder that the trial's folder is created in.
    init(in parent: FaultFolder) throws {
        folder = parent.url.appendingPathComponent(UUID().uuidString)
        injector = parent.injector
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    var store: String { folder.appendingPathComponent("messages.db").path }

    private var arguments: [String] { ["--store", store, "--logs", folder.path, "--count", "\(FaultTrial.count)"] }

    func worker(_ more: [String] = [], environment: [String: String] = [:], isTyped: Bool = false) throws
        -> CommandProcess
    {
        try CommandProcess(arguments + more, of: "StoreWorker", environment: environment, isTyped: isTyped)
    }

    /// Runs the program, and lets the call of this number fail.
    ///
    /// - Returns: Whether there was such a call.
    func run(_ fault: Fault, at number: Int) async throws -> Bool {
        let report = folder.appendingPathComponent("fired")
        let worker = try worker(environment: [
            "LD_PRELOAD": injector.path, "FAULT_NAME": "messages.db", "FAULT_AT": "\(number)",
            "FAULT_COUNT": fault == .burst ? "3" : "1",
            "FAULT_ERROR": ["kill": "0", "full": "28"][fault.rawValue] ?? "5",
            "FAULT_REPORT": report.path,
        ])
        let errors = await worker.errors.rest()
        let status = await worker.status()
        let call = (try? String(contentsOf: report, encoding: .utf8)) ?? "no call"
        let remark: Comment = "\(fault) at call \(number), \(call): \(errors)"
        if fault == .kill, call != "no call" {
            #expect(status == -SIGKILL, remark)
        } else {
            #expect(status == 0 || status == 1, remark)
        }
        if status == 1 { #expect(isExplained(errors), remark) }
        try await expectRest(remark)
        return call != "no call"
    }

    /// Whether an error names the file, and what to do about it.
    private func isExplained(_ errors: [String]) -> Bool {
        errors.contains {
            $0.hasPrefix("StoreWorker: \(store)") && ($0.contains("; check") || $0.contains("; free some"))
        }
    }

    /// Runs a second worker, and expects that everything that was acknowledged is handled or a dead letter, and that
    /// nothing is handled again whose outcome was on disk.
    func expectRest(_ remark: Comment) async throws {
        let before = try numbers("handled.txt")
        let found = try numbers("left.txt")
        let worker = try worker(["--resume"])
        let errors = await worker.errors.rest()
        #expect(await worker.status() == 0, "\(remark); then \(errors)")
        let all = try numbers("handled.txt")
        let left = try Array(numbers("left.txt").dropFirst(found.count))
        let again = Array(all.dropFirst(before.count))
        let administration = try StoreAdministration(path: store)
        #expect(Set(again).isSubset(of: left), "\(remark): handled again: \(Set(again).subtracting(left).sorted())")
        #expect(again == again.sorted(), "\(remark): \(again)")
        let lost = try Set(numbers("accepted.txt")).subtracting(all).subtracting(letters(administration))
        #expect(lost.isEmpty, "\(remark): lost: \(lost.sorted())")
        #expect(try administration.info().journal.isEmpty, remark)
        #expect(try administration.check() == [], remark)
    }

    /// The numbers of the messages that are dead letters.
    private func letters(_ administration: StoreAdministration) throws -> [Int] {
        var numbers: [Int] = []
        try administration.forEachLetter(DeadLetterFilter()) { entry in
            let id = try #require(entry.letter.message.id?.text)
            numbers.append(try #require(Int(id.dropFirst(2)), "the id is '\(id)'"))
        }
        return numbers
    }

    /// The numbers in one of the worker's files.
    func numbers(_ name: String) throws -> [Int] {
        let file = folder.appendingPathComponent(name)
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { Int($0) }
    }
}

/// The folder of a test, with the compiled `fault_injector.c`. Deleted with this object.
final class FaultFolder: Sendable {
    let url: URL

    var injector: URL { url.appendingPathComponent("fault_injector.so") }

    init() async throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("store-faults-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "fault_injector.c"
        )
        let compiler = try RunningProgram(
            "cc",
            ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", injector.path, source.path, "-ldl"]
        )
        try #require(await compiler.status() == 0, "fault_injector.c does not compile")
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}
