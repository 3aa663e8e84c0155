/// Numbers of messages in the order in which they are to be sent.
///
/// A number whose message has ended meanwhile is passed over; when those are more than half they are taken out.
struct PublishLane {
    private var numbers: [UInt64] = []
    private var head = 0

    mutating func append(_ number: UInt64) {
        numbers.append(number)
    }

    /// Puts messages that must be sent again before all others.
    mutating func prepend(_ again: [UInt64]) {
        guard !again.isEmpty else { return }
        numbers = again + numbers[head...]
        head = 0
    }

    /// The first number that `isWaiting` knows; it stays the first until it is taken.
    mutating func first(where isWaiting: (UInt64) -> Bool) -> UInt64? {
        while head < numbers.count {
            if isWaiting(numbers[head]) { return numbers[head] }
            head += 1
        }
        removeAll()
        return nil
    }

    /// Takes what ``first(where:)`` has just found.
    mutating func takeFirst() {
        head += 1
    }

    /// Keeps the numbers' memory within twice that of the messages that wait.
    mutating func compact(waiting count: Int, where isWaiting: (UInt64) -> Bool) {
        guard numbers.count > 2 * count + 64 else { return }
        numbers = numbers[head...].filter(isWaiting)
        head = 0
    }

    mutating func removeAll() {
        numbers.removeAll(keepingCapacity: true)
        head = 0
    }
}
