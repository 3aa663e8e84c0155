import AppScheme
import Testing

@Suite struct LinkFactsTests {
    @Test func theKindIsTheOneThatStoresAndRulesName() {
        #expect(LinkFacts.kind == "link")
    }
}
