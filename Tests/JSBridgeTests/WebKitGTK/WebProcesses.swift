#if WebKitGTK
import Foundation

@testable import JSBridge

/// The processes of pages that this process has begun, shut in or not.
enum WebProcesses {
    private static let name = "WebKitWebProces"

    static func ofThisTest() -> [Int32] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let processes = all.compactMap(Int32.init).compactMap { id in read(id).map { (id, $0) } }
        let parents = Dictionary(uniqueKeysWithValues: processes.map { ($0.0, $0.1.parent) })
        return processes.filter { $0.1.name == name && descends($0.0, parents) }.map(\.0)
    }

    static func kill(_ process: Int32) {
        _ = Foundation.kill(process, SIGKILL)
    }

    /// Waits until all have ended.
    static func untilNoneIsLeft() async {
        while !ofThisTest().isEmpty { await Task.yield() }
    }

    private static func descends(_ process: Int32, _ parents: [Int32: Int32]) -> Bool {
        var next = parents[process]
        for _ in 0..<20 {
            guard let id = next else { return false }
            if id == getpid() { return true }
            next = parents[id]
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
        while OpenObjects.now != OpenObjects() { await Task.yield() }
    }
}
#endif
