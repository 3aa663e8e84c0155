import Signalbox
import SignalboxCore

/// An event of a simulation with a store, in addition to those of a run without one.
enum JournalEvent: Sendable, Hashable {
    /// A run begins with what the store holds.
    case began(run: Int, wasInterrupted: Bool)
    /// The plugin's code begins with these messages. The call's number is that of the event before.
    case called(call: Int, [JournalDispatch])
    /// A message reaches the middleware of its plugin.
    case entered(JournalDispatch)
    /// Middleware answers a message in place of the plugin.
    case answered(JournalDispatch)
    /// The observer receives an outcome.
    case outcome(JournalDispatch, Outcome, isDuplicate: Bool)
    /// Changes are on disk. All of them survive a crash, or none.
    case synced([StoredChange])
    /// A commit fails, and will be tried again.
    case commitFailed
    case readFailed
    case replayRequested(letter: Int64)
    /// The process dies, during the call for a message or at any moment.
    case crashed(by: Int?)
    /// The store is closed after the run. Changes are lost if the last commit fails.
    case closed(isLost: Bool)
    /// What the store holds when no further run follows, as messages.
    case left(rows: [Int], letters: [Int])
}

/// One of the copies of a message between which a simulation distinguishes.
enum JournalCopy: Sendable, Hashable {
    /// The message as its source offered it.
    case memory(ArrivalMark)
    /// A row of the journal. The simulation never uses a number again.
    case row(Int)
    /// A dead letter that is replayed.
    case letter(Int64)
}

/// A message that is dispatched.
struct JournalDispatch: Sendable, Hashable {
    let copy: JournalCopy
    let message: Int
    let isRedelivered: Bool
}

/// A change of the simulated disk.
enum StoredChange: Sendable, Hashable {
    case appended(row: Int, message: Int, ArrivalMark)
    /// A row leaves the journal.
    case finished(row: Int)
    /// A dead letter is added, in place of a row if it has one.
    case letterAdded(letter: Int64, message: Int, reason: String, row: Int?)
    /// The replay of a letter failed.
    case letterKept(letter: Int64)
    /// The replay of a letter succeeded.
    case letterRemoved(letter: Int64)
    /// An id is remembered until a tick, counted from the first run.
    case remembered(source: Int, id: String, content: UInt64, until: Int)
    case beganAlone(row: Int)
    case survivedAlone(row: Int)
}

extension JournalCopy {
    /// The facts of a stored message, by which ``init(facts:)`` finds the copy again.
    var facts: Bytes {
        switch self {
        case .memory: Bytes("null")
        case .row(let row): Bytes("\(row)")
        case .letter(let letter): Bytes("-\(letter)")
        }
    }

    init?(facts: Bytes) {
        guard let number = facts.text.flatMap({ Int64($0) }) else { return nil }
        self = number < 0 ? .letter(-number) : .row(Int(number))
    }
}

extension JournalCopy: CustomStringConvertible {
    var description: String {
        switch self {
        case .memory(let mark): "\(mark)"
        case .row(let row): "row \(row)"
        case .letter(let letter): "letter \(letter)"
        }
    }
}

extension JournalDispatch: CustomStringConvertible {
    var description: String { "m\(message) (\(copy)\(isRedelivered ? ", redelivered" : ""))" }
}

extension StoredChange: CustomStringConvertible {
    var description: String {
        switch self {
        case .appended(let row, let message, let mark): "row \(row) = m\(message) of \(mark)"
        case .finished(let row): "row \(row) finished"
        case .letterAdded(let letter, let message, let reason, let row):
            "letter \(letter) = m\(message), \(reason)\(row.map { ", of row \($0)" } ?? "")"
        case .letterKept(let letter): "letter \(letter) failed again"
        case .letterRemoved(let letter): "letter \(letter) removed"
        case .remembered(let source, let id, _, let until): "id \(id) of s\(source) remembered until \(until)"
        case .beganAlone(let row): "row \(row) begins alone"
        case .survivedAlone(let row): "row \(row) survived alone"
        }
    }
}

extension JournalEvent: CustomStringConvertible {
    var description: String {
        switch self {
        case .began(let run, let wasInterrupted): "run \(run) opens the store\(wasInterrupted ? " after a crash" : "")"
        case .called(let call, let dispatches):
            "call \(call) is for " + dispatches.map(\.description).joined(separator: ", ")
        case .entered(let dispatch): "\(dispatch) reaches middleware"
        case .answered(let dispatch): "middleware answers \(dispatch)"
        case .outcome(let dispatch, let outcome, let isDuplicate):
            "\(dispatch) is \(outcome.code)\(isDuplicate ? ", a duplicate" : "")"
        case .synced(let changes): "synced: " + changes.map(\.description).joined(separator: "; ")
        case .commitFailed: "commit failed"
        case .readFailed: "read failed"
        case .replayRequested(let letter): "replay of letter \(letter) requested"
        case .crashed(let message): "the process dies\(message.map { " of m\($0)" } ?? "")"
        case .closed(let isLost): "store closed\(isLost ? " without its last changes" : "")"
        case .left(let rows, let letters):
            "left: rows \(rows.map { "m\($0)" }), letters \(letters.map { "m\($0)" })"
        }
    }
}

extension JournalEvent {
    /// The names of the messages, rows and letters that the event concerns.
    var subjects: [String] {
        switch self {
        case .called(_, let dispatches): dispatches.flatMap(\.subjects)
        case .entered(let dispatch), .answered(let dispatch), .outcome(let dispatch, _, _): dispatch.subjects
        case .synced(let changes): changes.flatMap(\.subjects)
        case .replayRequested(let letter): ["letter \(letter)"]
        default: []
        }
    }
}

extension JournalDispatch {
    fileprivate var subjects: [String] { ["\(copy)", "m\(message)"] }
}

extension StoredChange {
    fileprivate var subjects: [String] {
        switch self {
        case .appended(let row, let message, let mark): ["row \(row)", "m\(message)", "\(mark)"]
        case .finished(let row), .beganAlone(let row), .survivedAlone(let row): ["row \(row)"]
        case .letterAdded(let letter, let message, _, let row):
            ["letter \(letter)", "m\(message)"] + (row.map { ["row \($0)"] } ?? [])
        case .letterKept(let letter), .letterRemoved(let letter): ["letter \(letter)"]
        case .remembered: []
        }
    }
}
