import Signalbox

/// What one stage says about a message, as the commands show it.
struct ExplainedStage {
    let stage: String
    let passes: Bool
    let detail: String

    /// - Parameter addition: what else is known, behind the step's own words.
    init(_ step: ExplanationStep, addition: String? = nil) {
        stage = step.stage.description
        passes = step.passes
        detail = addition.map { "\(step.detail); \($0)" } ?? step.detail
    }

    /// The envelope that could not be read.
    init(unreadable detail: String) {
        stage = ExplanationStage.envelope.description
        passes = false
        self.detail = detail
    }
}

extension JSONObject {
    /// A list of objects with `stage`, `passes` and `detail`.
    mutating func add(_ name: String, stages: [ExplainedStage]) {
        add(name, objects: stages) { stage, object in
            object.add("stage", stage.stage)
            object.add("passes", stage.passes)
            object.add("detail", stage.detail)
        }
    }
}
