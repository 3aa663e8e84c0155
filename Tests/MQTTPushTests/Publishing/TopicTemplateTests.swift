import SignalboxCore
import SignalboxRoutes
import Testing

@testable import MQTTPush

@Suite struct TopicTemplateTests {
    @Test func theNamesAreLevels() throws {
        let template = try TopicTemplate("out/{action}/x/{id}")
        #expect(try template.topic(for: "loading", id: ActionID("7 b")) == "out/loading/x/7 b")
        #expect(template.filter?.text == "out/+/x/+")
        #expect(try TopicTemplate("plain").topic(for: "a", id: ActionID("a/b")) == "plain")
    }

    @Test(arguments: ["", "a{id}", "{id", "a}", "{device}", "{id}/{id}", "a/+", "a/#", "$SYS/a", "a\u{0}"])
    func whatIsNoTopicIsRefused(_ text: String) {
        #expect(throws: TopicTemplateError.self) { try TopicTemplate(text) }
    }

    @Test(arguments: ["a/b", "+", "#", "a#", "a\u{0}b", "\u{85}", "$SYS"])
    func anIdLeadsToNoOtherTopic(_ text: String) throws {
        let template = try TopicTemplate("{id}/a")
        let id = try #require(ActionID(text))
        #expect(throws: TopicTemplateError.self) { try template.topic(for: "a", id: id) }
    }
}
