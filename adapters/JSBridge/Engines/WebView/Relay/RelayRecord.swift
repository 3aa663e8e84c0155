/// One record of a text that relay.js posts. Ranges are places in the text, in bytes; a JSON string's with its quotes.
enum RelayRecord: Hashable {
    /// What a call from the program came to in the page.
    enum AnswerKind: String { case returned, threw, invalidReply, full }

    /// The first of a document.
    case hello
    /// A message. `units` is the length of all of its JSON in UTF-16 code units: more than `json` has when it was cut.
    case call(number: UInt64, timeout: Double, units: Int, handler: Range<Int>, json: Range<Int>)
    /// JSON when it is `returned`, perhaps none; else a JSON string.
    case answer(number: UInt64, AnswerKind, text: Range<Int>)
    /// A JSON string.
    case warn(Range<Int>)
    /// A script error; a JSON string.
    case error(Range<Int>)
    /// So many calls were rejected in the page, as too many waited.
    case full(Int)
    /// So many lines were too many, so many of them script errors.
    case withheld(lines: Int, errors: Int)
}
