import Foundation

@testable import SignalboxCommand

/// Graphs of configurations, without a program.
enum GraphFixture {
    /// A source of each kind, a chain, forwards, a process, and a source and a plugin that nothing reaches.
    static let text = """
        sources:
          push:
            mqtt:
              broker: mqtt://127.0.0.1:1883
              client_id: graph
              topics: [ 'push/{device}/{action}', { pattern: 'plain/{room}', payload: text, action: temperature } ]
              publishing: {}
          page: { script: { files: [page.js] } }
          shop: { links: { standard_input: true, routes: [ { pattern: 'myapp://buy/{item}', action: order } ] } }
          chat: { chat: { port: 0, absent_origin: allowed, tags: [all], announce_connections: true } }
          web: { http: { port: 0, anyone: true } }
          idle: { feed: { url: 'ws://127.0.0.1:1/' } }
        plugins:
          - { action: temperature, use: print, from: [push] }
          - { action: order, use: process, command: [sh, p.sh], from: [{ source: shop, scheme: myapp }, page, web] }
          - action: cook
            use: chain
            steps:
              - { use: filter, when: '/n > 1' }
              - { use: send, to: push, topic: 'kitchen/{action}' }
              - { use: broadcast, to: chat, tag: all }
            from: internal
          - { action: say, use: broadcast, tag: all, from: [chat] }
          - { action: signalbox.connected, use: log, from: [chat] }
          - { action: never, use: log, from: [shop] }
        navigation:
          chain: [ { schemes: [https] }, { hosts: [shop.example], name: site } ]
          fallback: cancel
        """

    static func graph(_ text: String = text) throws -> ConfigurationGraph {
        ConfigurationGraph(try ConfigurationFixture.read(text, for: .explain))
    }

    static func picture(_ text: String = text, title: String = "f.yaml") throws -> String {
        String(decoding: try graph(text).bytes(as: .svg, title: title), as: UTF8.self)
    }
}

extension ConfigurationGraph {
    /// The calls as `SOURCE ROUTE -> PLUGIN RULE`.
    var shownCalls: [String] {
        calls.map { call in
            let (source, plugin) = (sources[call.source], plugins[call.plugin])
            let route = source.routes[call.route].text
            return "\(source.name) \(route) -> \(plugin.action) \(plugin.rules[call.rule].text)"
        }
    }

    /// The forwards as `PLUGIN STEP -> SOURCE`.
    var shownForwards: [String] {
        forwards.map { forward in
            let plugin = plugins[forward.plugin]
            return "\(plugin.action) \(plugin.steps[forward.step]) -> \(sources[forward.source].name)"
        }
    }
}
