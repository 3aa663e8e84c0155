/// Reads the members of one object, or one value, by hand. Valid during the call it is passed to.
///
/// Each read by name searches the object once. Integers are taken exactly; text of a route converts, a JSON string
/// never does; the forms `...IfPresent` give `nil` for a member that is absent or null.
public struct BodyReader: ~Copyable {
    let view: BodyView

    init(view: BodyView) {
        self.view = view
    }

    @usableFromInline
    init(_ decoder: BodyDecoder) {
        view = decoder.view
    }

    /// Whether the object has a member of this name, null or not.
    public func has(_ name: StaticString) -> Bool {
        find(name) != nil
    }

    /// A member that is an integer.
    public func int(_ name: StaticString) throws(BodyError) -> Int {
        try view.integer(Int.self, at: try position(name))
    }

    /// A member that is an integer of a type of 64 bits at most.
    public func integer<Integer: FixedWidthInteger>(
        _ name: StaticString,
        as type: Integer.Type
    ) throws(BodyError) -> Integer {
        try view.integer(type, at: try position(name))
    }

    /// A member that is text.
    public func string(_ name: StaticString) throws(BodyError) -> String {
        try view.string(at: try position(name))
    }

    /// A member that is true or false.
    public func bool(_ name: StaticString) throws(BodyError) -> Bool {
        try member(name).bool()
    }

    /// A member that is a number; an integer literal that `Double` does not hold exactly is refused.
    public func double(_ name: StaticString) throws(BodyError) -> Double {
        try member(name).double()
    }

    /// A member of any decodable type.
    public func value<Value: Decodable>(_ name: StaticString, as type: Value.Type) throws(BodyError) -> Value {
        try member(name).decoded(type)
    }

    /// A member that is an object, read by `read`.
    public func object<Value>(
        _ name: StaticString,
        _ read: (borrowing BodyReader) throws(BodyError) -> Value
    ) throws(BodyError) -> Value {
        let place = try member(name)
        guard place.node.is(.object) else { throw place.mismatch("an object") }
        return try read(BodyReader(view: place))
    }

    /// A member that is an array, each element read by `read`.
    public func array<Element>(
        _ name: StaticString,
        _ read: (borrowing BodyReader) throws(BodyError) -> Element
    ) throws(BodyError) -> [Element] {
        try member(name).elements(read)
    }

    /// An error of a type that checks its own values.
    ///
    /// - Parameters:
    ///   - name: the member at fault.
    ///   - expected: what was expected, such as `a positive amount expected`.
    public func invalid(_ name: StaticString, _ expected: StaticString) -> BodyError {
        guard let place = find(name) else {
            return view.error(.invalidValue, "\(expected)", key: BodyCodingKey(stringValue: "\(name)"))
        }
        return place.error(.invalidValue, "\(expected)")
    }

    @inline(__always)
    func find(_ name: StaticString) -> BodyView? {
        search(name).map(view.at)
    }

    @inline(__always)
    private func search(_ name: StaticString) -> UInt32? {
        guard view.node.is(.object) else { return nil }
        let found = name.withUTF8Buffer { view.member($0) }
        return found.isSettled ? found.position : searchText("\(name)")
    }

    @inline(never)
    private func searchText(_ name: String) -> UInt32? {
        view.member(name)
    }

    @inline(__always)
    private func member(_ name: StaticString) throws(BodyError) -> BodyView {
        view.at(try position(name))
    }

    @inline(__always)
    private func position(_ name: StaticString) throws(BodyError) -> UInt32 {
        guard let position = search(name) else { throw absent(name) }
        return position
    }

    @inline(never)
    private func absent(_ name: StaticString) -> BodyError {
        guard view.node.is(.object) else { return view.mismatch("an object") }
        return view.error(.missingMember, key: BodyCodingKey(stringValue: "\(name)"))
    }
}
