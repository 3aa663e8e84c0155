/// What an input is given to.
enum FuzzTarget: Character, CaseIterable {
    /// The bytes are a message of a batch, in each envelope and payload kind.
    case message = "m"
    /// The bytes are a JSON text.
    case document = "d"
    /// The bytes are one number, of a body and of a route.
    case number = "n"
    /// The bytes are a name or an id.
    case name = "a"
    /// The bytes are a topic pattern and, after a line feed, a topic.
    case topic = "t"
    /// The bytes are a URL and, after a line feed, a reference.
    case url = "u"
    /// The bytes are a URL pattern and, after a line feed, a URL.
    case route = "r"

    init(selector: UInt8) {
        let all = FuzzTarget.allCases
        self = FuzzTarget(rawValue: Character(Unicode.Scalar(selector))) ?? all[Int(selector) % all.count]
    }

    func run(_ input: [UInt8]) {
        switch self {
        case .message: MessageTarget.run(input)
        case .document: DocumentTarget.run(input)
        case .number: NumberTarget.run(input)
        case .name: NameTarget.run(input)
        case .topic: TopicTarget.run(input)
        case .url: URLTarget.run(input)
        case .route: RouteTarget.run(input)
        }
    }
}

/// An invariant that does not hold is a crash, which libFuzzer keeps and shrinks.
func require(_ condition: Bool, _ rule: @autoclosure () -> String) {
    guard condition else { fatalError("broken: \(rule())") }
}
