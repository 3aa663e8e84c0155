import SignalboxCore
import Testing

@Suite struct WideIntegerTests {
    @Test func integersBeyond64BitsAreRefusedWithoutATrap() throws {
        struct Wide: Codable { let value: Int128 }
        #expect(try Reading.decodingError(#"{"value":1}"#, as: Wide.self) != nil)
        #expect(try Reading.decodingError("[1]", as: [UInt128].self) != nil)
        #expect(try Reading.decodingError("1", as: Int128.self) != nil)
        #expect(throws: BodyError.self) { try BodyWriter.write(Wide(value: 1)) }
    }
}
