import CYAML

/// A part of a YAML text, in file order.
struct YAMLEvent {
    enum Kind {
        case documentStart, documentEnd, streamEnd
        case scalar(String)
        case sequenceStart, sequenceEnd, mappingStart, mappingEnd
        /// Stands for the node with the event's anchor.
        case alias
        /// An event that needs no attention, such as the start of the text.
        case other
    }

    let kind: Kind
    let position: YAMLPosition
    /// The tag that decides the type of the node, or `nil` if the type follows from its form.
    var tag: String?
    var anchor: String?
}

/// Reads the events of a YAML text with libyaml. Owns its parser.
struct YAMLEvents: ~Copyable {
    // The parser keeps its own address and that of the text, so neither may move.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>

    init(of text: String) throws(YAMLError) {
        self.text = .allocate(capacity: text.utf8.count)
        _ = self.text.initialize(from: text.utf8)
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        guard yaml_parser_initialize(parser) == 1 else { throw .outOfMemory }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, self.text.baseAddress, self.text.count)
    }

    deinit {
        // Also after an initialization that failed, which leaves it empty.
        yaml_parser_delete(parser)
        parser.deallocate()
        text.deallocate()
    }

    /// Returns the next event. Must not be called after an error or the end of the text.
    func next() throws(YAMLError) -> YAMLEvent {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure }
        defer { yaml_event_delete(&event) }
        return YAMLEvent(event)
    }

    private var failure: YAMLError {
        guard let text = parser.pointee.problem else { return .outOfMemory }
        let problem = String(cString: text)
        return switch parser.pointee.error {
        case YAML_READER_ERROR: .unreadable(problem: problem, offset: Int(parser.pointee.problem_offset))
        case YAML_SCANNER_ERROR, YAML_PARSER_ERROR, YAML_COMPOSER_ERROR:
            .syntax(problem: problem, YAMLPosition(parser.pointee.problem_mark))
        default: .outOfMemory
        }
    }
}

extension YAMLEvent {
    fileprivate init(_ event: yaml_event_t) {
        position = YAMLPosition(event.start_mark)
        switch event.type {
        case YAML_DOCUMENT_START_EVENT: kind = .documentStart
        case YAML_DOCUMENT_END_EVENT: kind = .documentEnd
        case YAML_STREAM_END_EVENT, YAML_NO_EVENT: kind = .streamEnd
        case YAML_SEQUENCE_END_EVENT: kind = .sequenceEnd
        case YAML_MAPPING_END_EVENT: kind = .mappingEnd
        case YAML_ALIAS_EVENT:
            kind = .alias
            anchor = YAMLEvent.text(event.data.alias.anchor)
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            // The text may contain NUL, and the bytes are valid UTF-8 because the file's are.
            kind = .scalar(
                String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            )
            tag = scalar.quoted_implicit != 0 ? "tag:yaml.org,2002:str" : YAMLEvent.text(scalar.tag)
            anchor = YAMLEvent.text(scalar.anchor)
        case YAML_SEQUENCE_START_EVENT:
            let start = event.data.sequence_start
            kind = .sequenceStart
            tag = start.implicit != 0 ? nil : YAMLEvent.text(start.tag)
            anchor = YAMLEvent.text(start.anchor)
        case YAML_MAPPING_START_EVENT:
            let start = event.data.mapping_start
            kind = .mappingStart
            tag = start.implicit != 0 ? nil : YAMLEvent.text(start.tag)
            anchor = YAMLEvent.text(start.anchor)
        default: kind = .other
        }
    }

    private static func text(_ bytes: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        bytes.map { String(cString: $0) }
    }
}

extension YAMLPosition {
    /// libyaml counts from 0.
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }
}
