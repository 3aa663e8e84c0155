/// One row of the table of stages: what is on, what it is compared with, and what it may cost.
struct StageRow: Sendable {
    let name: String
    /// The row it is timed side by side with.
    let base: String
    let setting: StageSetting
    /// How many allocations an action has, at a batch of 256; what a batch has beside them is ``perBatch`` at most.
    let allocations: Double
    /// Where they come from.
    let reason: String
    /// The most time, as a multiple of the base's, where one is promised.
    let timeBar: Double?

    init(
        _ name: String,
        beside base: String = StageRow.nothing,
        allocations: Double,
        _ reason: String,
        timeBar: Double? = nil,
        _ change: (inout StageSetting) -> Void = { _ in }
    ) {
        self.name = name
        self.base = base
        self.allocations = allocations
        self.reason = reason
        self.timeBar = timeBar
        var setting = StageSetting()
        change(&setting)
        self.setting = setting
    }

    /// The most that a batch may add to an action: 64 in 256 actions. One more in every fourth action is too many.
    static let perBatch = 0.25

    /// The row without any stage.
    static let nothing = "nothing on"
}
