import SignalboxCore

extension FrameElements.Fault {
    /// The fault as readers of messages tell it.
    func bodyError(limit: Int) -> BodyError {
        switch self {
        case .syntax(let offset): BodyError(.invalidSyntax, offset: offset, detail: "an array of messages expected")
        case .empty: BodyError(.invalidValue, detail: "an array of at least one message expected")
        case .tooMany: BodyError(.tooLarge, detail: "an array of at most \(limit) messages expected")
        }
    }
}
