import Foundation

/// The processor time that this process has used, all threads together, in nanoseconds: what others do on the machine
/// does not count.
enum ProcessorTime {
    static var now: Double { Double(clock()) / Double(CLOCKS_PER_SEC) * 1e9 }
}
