import Testing

@testable import SignalboxCommand

/// The arrows of a graph, and the formats that other programs draw.
@Suite struct GraphTests {
    @Test func anArrowLeadsFromEachRouteThatCanNameTheActionToTheRuleThatAdmitsIt() throws {
        #expect(
            try GraphFixture.graph().shownCalls == [
                "push push/{device}/{action} -> temperature from push",
                "push plain/{room} -> temperature from push",
                "shop myapp://buy/{item} -> order from shop: link of scheme myapp",
                "page page.js -> order from page", "web POST /{action} -> order from web",
                "internal signalbox send, processes -> cook from internal",
                "chat messages on / -> say from chat",
                "chat connections -> signalbox.connected from chat",
            ]
        )
    }

    @Test func aForwardLeadsFromItsStepToTheSourceThatItSendsTo() throws {
        #expect(
            try GraphFixture.graph().shownForwards == [
                "order process sh p.sh -> internal",
                "cook 2 send kitchen/{action} to push -> push",
                "cook 3 broadcast to chat, tag all -> chat",
                "say broadcast, tag all -> chat",
            ]
        )
    }

    @Test func aRuleThatTheTopicCannotMeetHasNoArrow() throws {
        let text = """
            sources:
              push: { mqtt: { broker: 'mqtt://h', client_id: a, topics: ['a/{action}', 'b/{device}/{action}'] } }
            plugins:
              - { action: open, use: log, from: [ { source: push, topic: b/+/open }, { not: { source: push } } ] }
            """
        #expect(
            try GraphFixture.graph(text).shownCalls == [
                "push b/{device}/{action} -> open from push: topic b/+/open",
                "internal signalbox send -> open from not (source push)",
            ]
        )
    }

    @Test func whatNothingReachesIsKnown() throws {
        let graph = try GraphFixture.graph()
        #expect(graph.sources.filter { !$0.isHeard }.map(\.name) == ["idle"])
        #expect(graph.plugins.filter { !$0.isReached }.map(\.action) == ["never"])
    }

    @Test func internalIsASourceOnlyIfAPluginAdmitsIt() throws {
        #expect(try GraphFixture.graph().sources.last?.name == "internal")
        let text = """
            sources: { page: { script: {} } }
            plugins: [ { action: a, use: process, command: [sh], from: page } ]
            """
        let graph = try GraphFixture.graph(text)
        #expect(graph.sources.map(\.name) == ["page"] && graph.forwards.isEmpty)
    }

    @Test(arguments: [
        ("python3, bin/my-orders_2.py", "python3 bin/my-orders_2.py"), ("sh, p.sh, secret", "sh p.sh …"),
        ("sh, -c, 'a b.sh'", "sh …"), ("sh, 'a b.sh'", "sh …"), ("sh, a.SECRET", "sh …"), ("sh, .sh", "sh …"),
        ("sh, k=v.py", "sh …"), ("sh, a.secret", "sh …"), ("sh, a.", "sh …"), ("sh, a", "sh …"), ("cat", "cat"),
    ])
    func aPictureNamesAScriptAndNoOtherArgument(command: String, text: String) throws {
        let graph = try GraphFixture.graph(
            """
            sources: { page: { script: {} } }
            plugins: [ { action: a, use: exec, command: [\(command)], from: page } ]
            """
        )
        #expect(graph.mermaid.contains("exec \(text)\")"), "\(graph.mermaid)")
    }

    @Test func theNavigationChainIsInOrder() throws {
        let navigation = try GraphFixture.graph().navigation
        #expect(navigation == ConfigurationGraph.Navigation(handlers: ["scheme", "site"], fallback: "cancel"))
    }

    @Test func aLongListIsCutAndItsArrowsLeadToTheRest() throws {
        let topics = (1...100).map { "'t\($0)/{action}'" }.joined(separator: ", ")
        let text = """
            sources: { push: { mqtt: { broker: 'mqtt://h', client_id: a, topics: [\(topics)] } } }
            plugins: [ { action: a, use: log, from: push } ]
            """
        let graph = try GraphFixture.graph(text)
        #expect(graph.sources[0].routes.count == GraphLabel.maximumRows)
        #expect(graph.sources[0].routes.last?.text == "and 68 more")
        #expect(graph.calls.count == GraphLabel.maximumRows)
    }

    @Test func anOrderWithoutCrossingsIsFound() {
        let links = [(0, 2), (1, 0), (2, 1)].map { source, plugin in
            GraphOrder.Link(source: source, sourceRow: 0, plugin: plugin, pluginRow: 0)
        }
        let order = GraphOrder(sourceRows: [1, 1, 1], pluginRows: [1, 1, 1], links: links)
        #expect(order.sources == [0, 1, 2] && order.plugins == [2, 0, 1])
    }

    @Test func theOrderOfTheFileStaysIfNothingCrosses() {
        let links = [(1, 0), (1, 2)].map { source, plugin in
            GraphOrder.Link(source: source, sourceRow: 0, plugin: plugin, pluginRow: 0)
        }
        let order = GraphOrder(sourceRows: [1, 1], pluginRows: [1, 1, 1], links: links)
        #expect(order.sources == [0, 1] && order.plugins == [0, 1, 2])
    }

    @Test func mermaidIsAFlowChart() throws {
        #expect(
            try GraphFixture.graph(Self.navigated).mermaid == """
                flowchart LR
                  s0["page (script)<br>messages"]
                  p0("a<br>log")
                  s0 -->|"messages"| p0
                  subgraph navigation
                    n0["scheme"]
                    n1["else allow"]
                    n0 --> n1
                  end

                """
        )
    }

    @Test func dotIsADirectedGraph() throws {
        #expect(
            try GraphFixture.graph(Self.navigated).dot == """
                digraph signalbox {
                  rankdir=LR;
                  node [shape=box, fontname=monospace];
                  edge [fontname=monospace, fontsize=10];
                  s0 [label="page (script)\\nmessages"];
                  p0 [label="a\\nlog"];
                  s0 -> p0 [label="messages"];
                  subgraph cluster_navigation {
                    label=navigation;
                    n0 [label="scheme"];
                    n1 [label="else allow"];
                    n0 -> n1;
                  }
                }

                """
        )
    }

    private static let navigated = """
        sources: { page: { script: {} } }
        plugins: [ { action: a, use: log, from: page } ]
        navigation: { chain: [ { schemes: [https] } ], fallback: allow }
        """

    @Test func textsAreEscapedInMermaid() throws {
        #expect(
            try GraphFixture.graph(Self.naughty).mermaid == """
                flowchart LR
                  s0["q (mqtt)<br>a/#34;#60;#96;#92;#59;/{action}"]
                  s1["idle (script)<br>messages"]
                  p0("a<br>send b#38;c to q")
                  p1("b<br>log<br>from q: topic x")
                  s0 -->|"a/#34;#60;#96;#92;#59;/{action} if push of QoS 1"| p0
                  p0 -.->|"send b#38;c to q"| s0
                  classDef unused stroke-dasharray: 5 5
                  class s1,p1 unused

                """
        )
    }

    @Test func textsAreEscapedInDot() throws {
        let dot = try GraphFixture.graph(Self.naughty).dot
        #expect(dot.contains(#"  s0 [label="q (mqtt)\na/\"<`\\;/{action}"];"#))
        #expect(dot.contains(#"  s1 [label="idle (script)\nmessages", style=dashed];"#))
        #expect(dot.contains(#"  p0 -> s0 [label="send b&amp;c to q", style=dotted, constraint=false];"#))
    }

    private static let naughty = #"""
        sources:
          q: { mqtt: { broker: 'mqtt://h', client_id: a, topics: ['a/"<`\;/{action}'], publishing: {} } }
          idle: { script: {} }
        plugins:
          - { action: a, use: send, to: q, topic: 'b&c', from: { source: q, qos: 1 } }
          - { action: b, use: log, from: { source: q, topic: x } }
        """#
}
