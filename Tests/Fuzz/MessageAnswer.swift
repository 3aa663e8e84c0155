import SignalboxCore

/// All that can be seen of an arrival, assigned ids apart.
struct MessageAnswer: Equatable {
    private var original: [UInt8]
    private var token: UInt64
    private var name: String?
    private var id: String?
    private var json: String?
    private var aside: String?
    private var envelope: EnvelopeKind
    private var decoded: [String] = []
    private var errors: [BodyError] = []
    private var isRejected = false

    init(_ arrival: Arrival) {
        original = Array(arrival.original)
        token = arrival.token
        envelope = arrival.envelope
        switch arrival.reading {
        case .success(let action):
            name = action.name.text
            id = action.idKey == .assigned ? nil : "\(action.idKey) \(action.id.text)"
            json = action.body.jsonText
            aside = (action.aps ?? action.cloudEventAttributes)?.jsonText
            require(!action.id.text.isEmpty && action.id.text.utf8.count <= ActionID.maximumLength, "an id is bounded")
            require((try? ActionName(action.name.text)) == action.name, "a name is in the grammar")
            BodyReading.checkRoundTrip(action.body)
            let reading = BodyReading(of: action.body)
            decoded = reading.values
            errors = reading.errors
        case .failure(let rejection):
            isRejected = true
            require(rejection.reason == .malformed, "what cannot be read is malformed")
            guard let error = rejection.bodyError else { fatalError("a rejection says what is wrong") }
            errors = [error]
        }
    }

    func check(against message: [UInt8]) {
        require(original == message, "an arrival keeps its original bytes")
        require(token == 7, "an arrival keeps its token")
        for error in errors {
            require((0...message.count).contains(error.offset ?? 0), "\(error) is within the message")
            require(isRejected || error.path.hasPrefix("body"), "the path of \(error) begins with body")
        }
    }
}
