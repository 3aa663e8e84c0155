/// One call of a plugin's code.
struct CallRecord: Sendable {
    let number: Int
    let registration: Int
    let marks: [ArrivalMark]
    let attempt: Int
    let began: Int
    var ended: Int?
    var result: SimulationEvent.CallResult?

    func isRunning(at position: Int) -> Bool { began < position && ended.map { $0 > position } ?? true }
}
