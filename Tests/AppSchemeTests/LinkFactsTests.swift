import AppScheme
import Foundation
import SignalboxCore
import SignalboxRoutes
import Testing

@Suite struct LinkFactsTests {
    @Test func theKindIsTheOneThatStoresAndRulesName() {
        #expect(LinkFacts.kind == "link")
    }

    @Test(
        arguments: [
            ("MyApp://shop/x?a=b", #"{"scheme":"myapp"}"#),
            ("https://Shop.Example:443/x", #"{"scheme":"https","universalHost":"shop.example"}"#),
            ("http://shop.example:81", #"{"scheme":"http","universalHost":"shop.example:81"}"#),
            ("no link", #"{"scheme":""}"#),
        ])
    func factsAreStoredUnderTheirNames(_ link: String, stored: String) throws {
        let facts = try AppRoutes("myapp://x", "x").match(link).facts
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(facts), as: UTF8.self) == stored)
    }
}
