extension EventList where Element == String {
    /// Waits for a line with the text, `count` times, and returns the last of them; an empty one when the task is cancelled.
    package func line(containing text: String, times count: Int = 1) async -> String {
        let lines = await wait { lines in lines.count { $0.contains(text) } >= count }
        return lines.filter { $0.contains(text) }.dropFirst(count - 1).first ?? ""
    }
}
