import Foundation
import Logging
import Signalbox
import SignalboxCore
import SignalboxStore
import SignalboxTesting
import Testing

/// A folder of a test, which is deleted with this object.
final class StoreFolder: Sendable {
    let path: String

    /// - Parameter isInMemory: Whether the folder is in memory if possible, for tests that open very many stores.
    init(isInMemory: Bool = false) throws {
        let memory = URL(fileURLWithPath: "/dev/shm")
        let isWritable = isInMemory && FileManager.default.isWritableFile(atPath: memory.path)
        let folder = isWritable ? memory : FileManager.default.temporaryDirectory
        path = folder.appendingPathComponent("signalbox-store-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of the store.
    var store: String { path + "/messages.db" }

    /// Copies the files of a store that is open, as they are when its process dies.
    ///
    /// - Parameter original: The path of the store, or `nil` for ``store``.
    func copyAsCrashed(_ original: String? = nil, to name: String) throws -> String {
        let (original, copy) = (original ?? store, path + "/" + name)
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: original + suffix) {
            try FileManager.default.copyItem(atPath: original + suffix, toPath: copy + suffix)
        }
        return copy
    }
}

struct Payment: Codable, Sendable {
    let amount: Int
}

struct Broken: Error {}

extension Supervisor {
    /// Returns a supervisor with a store, which waits for calls as long as a test may take.
    static func with(_ store: Store, drainLimit: Duration = .seconds(30)) -> Supervisor {
        var configuration = SupervisorConfiguration()
        configuration.store = store
        configuration.timeout = .seconds(3_600)
        configuration.drainLimit = drainLimit
        configuration.tick = .milliseconds(10)
        return Supervisor(configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
}

extension SourceDurability {
    /// A journal with the default limits, but for the age: messages of an `InMemoryAdapter` are from 1970.
    static let journaled = SourceDurability.journal(JournalLimits(age: .longerThanAnyTest))
}

extension Duration {
    static let longerThanAnyTest = Duration.seconds(200 * 365 * 86_400)
}

/// Runs a supervisor with one source named `push`, and closes the store.
///
/// - Parameters:
///   - register: Registers the plugins.
///   - body: The work of the test, with the adapter of the source.
func run(
    at path: String,
    durability: SourceDurability = .none,
    window: WindowLimits = WindowLimits(),
    features: AdapterFeatures = [.replies, .stableIDs],
    drainLimit: Duration = .seconds(30),
    _ register: (Supervisor) throws -> Void,
    _ body: (InMemoryAdapter) async throws -> Void
) async throws {
    let store = try Store(path: path)
    let supervisor = Supervisor.with(store, drainLimit: drainLimit)
    let adapter = InMemoryAdapter(source: "push", features: features)
    try supervisor.add(adapter, window: window, durability: durability)
    try register(supervisor)
    try await supervisor.whileRunning { try await body(adapter) }
    try store.close()
}
