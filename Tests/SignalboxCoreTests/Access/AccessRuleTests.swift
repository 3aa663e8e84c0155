import SignalboxCore
import Testing

/// Each composition of rules against an origin that anybody may stand behind, and one that is no such origin.
@Suite struct AccessRuleTests {
    struct AnybodysFacts: LeastTrustedFacts {
        static let kind = "anybody"
    }

    private static let links = Origin(source: "links", facts: AnybodysFacts())
    private static let push = Origin(source: "push", facts: TestFacts(note: "here"))

    private static let anybody = AccessRule("anybody's", naming: AnybodysFacts.self) { _, _ in true }
    private static let here = AccessRule("here") { ($0.facts as? TestFacts)?.note == "here" }
    private static let namedHere = AccessRule("here", naming: TestFacts.self) { $1.note == "here" }
    private static let fromLinks = AccessRule("from links", naming: AnybodysFacts.self) { from, _ in from == "links" }
    private static let nowhere = AccessRule("nowhere", naming: AnybodysFacts.self) { from, _ in from == "other" }
    private static let unnamed = AccessRule("unnamed") { $0.facts is AnybodysFacts }
    private static let everything = AccessRule("everything") { _ in true }
    private static let nothing = AccessRule("nothing") { _ in false }

    struct Row: CustomTestStringConvertible, Sendable {
        let rule: AccessRule
        let allowsLinks, allowsPush: Bool

        init(_ rule: AccessRule, links: Bool, push: Bool) {
            self.rule = rule
            allowsLinks = links
            allowsPush = push
        }

        var testDescription: String { rule.description }
    }

    private static let leaves = [
        Row(.source("links"), links: true, push: false),
        Row(.source("push"), links: false, push: true),
        Row(anybody, links: true, push: false),
        Row(here, links: false, push: true),
        Row(namedHere, links: false, push: true),
        Row(fromLinks, links: true, push: false),
        Row(nowhere, links: false, push: false),
        Row(unnamed, links: false, push: false),
        Row(everything, links: false, push: true),
        Row(nothing, links: false, push: false),
    ]

    private static let exclusions = [
        Row(.not(.source("push")), links: false, push: false),
        Row(.not(.source("other")), links: false, push: true),
        Row(.not(here), links: false, push: false),
        Row(.not(nothing), links: false, push: true),
        Row(.not(anybody), links: false, push: true),
        Row(.not(.not(.source("links"))), links: false, push: false),
        Row(.not(.not(here)), links: false, push: true),
        Row(.not(.any([])), links: false, push: true),
        Row(.not(.all([])), links: false, push: true),
        Row(.not(unnamed), links: false, push: true),
        Row(.not(.not(unnamed)), links: false, push: false),
    ]

    private static let unions = [
        Row(.any([]), links: false, push: false),
        Row(.any([here, anybody]), links: true, push: true),
        Row(.any([everything, unnamed]), links: false, push: true),
        Row(.any([.not(.source("other"))]), links: false, push: true),
        Row(.any([.not(.source("other")), .source("links")]), links: true, push: true),
        Row(.any([.not(.source("other")), .source("push")]), links: false, push: true),
        Row(.any([.all([.not(here)]), here]), links: false, push: true),
        Row(.any([.all([.not(here), anybody]), here]), links: true, push: true),
    ]

    private static let intersections = [
        Row(.all([]), links: false, push: false),
        Row(.all([anybody, .source("links")]), links: true, push: false),
        Row(.all([anybody, .source("push")]), links: false, push: false),
        Row(.all([.not(here), .not(.source("push"))]), links: false, push: false),
        Row(.all([.not(here), .source("links")]), links: true, push: false),
        Row(.all([.not(.source("other")), here]), links: false, push: true),
        Row(.all([.not(.source("other"))]), links: false, push: true),
        Row(.all([.any([.not(here), anybody]), .not(.source("push"))]), links: true, push: false),
        Row(.all([.any([.not(here), here]), .not(.source("other"))]), links: false, push: true),
        Row(.all([everything, .not(anybody)]), links: false, push: true),
        Row(.all([everything, anybody]), links: true, push: false),
        Row(.all([unnamed, .source("links")]), links: true, push: false),
        Row(.all([unnamed, everything]), links: false, push: false),
    ]

    @Test(arguments: leaves + exclusions + unions + intersections)
    func anOriginThatMustBeNamedIsAllowedOnlyByARuleThatNamesIt(_ row: Row) {
        #expect(row.rule.allows(Self.links) == row.allowsLinks)
        #expect(row.rule.allows(Self.push) == row.allowsPush)
    }

    @Test func aRuleInWordsSaysHowItIsComposed() {
        let rule = AccessRule.all([.not(.source("push")), .any([Self.here, .source("links")])])
        #expect(rule.description == "all of (not (source push); any of (here; source links))")
    }
}
