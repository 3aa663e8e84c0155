#if WebKitGTK
import Foundation

@testable import JSBridge

/// The processes of pages that this process has begun, shut in or not.
enum WebProcesses {
    private static let name = "WebKitWebProces"
    private static let sandbox = "bwrap"

    static func ofThisTest() -> [Int32] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let found = all.compactMap(Int32.init).compactMap { id in read(id).map { (id, $0) } }
        let processes = Dictionary(uniqueKeysWithValues: found)
        return processes.keys.filter { processes[$0]?.name == name && isBegunHere($0, processes) }
    }

    static func kill(_ process: Int32) {
        _ = Foundation.kill(process, SIGKILL)
    }

    /// Waits until all have ended.
    static func untilNoneIsLeft() async {
        while !Task.isCancelled, !ofThisTest().isEmpty { await Task.yield() }
    }

    /// Whether nothing but the sandbox is between: other tests have pages in programs that they start.
    private static func isBegunHere(_ process: Int32, _ processes: [Int32: (name: String, parent: Int32)]) -> Bool {
        var next = processes[process]?.parent
        for _ in 0..<20 {
            guard let id = next else { return false }
            if id == getpid() { return true }
            guard let between = processes[id], between.name == sandbox else { return false }
            next = between.parent
        }
        return false
    }

    /// `nil` for one that has ended, also when nobody has looked yet how.
    private static func read(_ process: Int32) -> (name: String, parent: Int32)? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")")
        else { return nil }
        let rest = text[text.index(after: close)...].split(separator: " ")
        guard rest.count > 1, rest[0] != "Z", let parent = Int32(rest[1]) else { return nil }
        return (String(text[text.index(after: open)..<close]), parent)
    }
}

extension OpenObjects {
    /// Waits until the library has let go of everything.
    static func untilNoneIsLeft() async {
        while OpenObjects.now != OpenObjects(), !Task.isCancelled { await Task.yield() }
    }
}
#endif
