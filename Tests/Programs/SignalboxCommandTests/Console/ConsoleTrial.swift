import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// The console of a running program, in a browser.
struct ConsoleTrial {
    static let token = "0123456789abcdef"

    let observed: ObserveTrial
    let tab: ChromiumTab

    /// Links from stdin, with plugins that handle, fail and never return, and a store.
    static func configuration(_ mode: String = "full", _ more: String = "") -> String {
        """
        observe: { port: 0, token: { file: token }, console: \(mode) }
        store: s.db
        sources:
          links: { links: { standard_input: true, routes: [{ pattern: 'app://{action}' }] } }
        plugins:
          - { action: good, use: log, from: [links, internal] }
          - { action: bad, use: fail, from: [links, internal] }
          - { action: echo, use: echo, from: internal }
          - { action: stuck, use: suspend, from: [links, internal], timeout: 10ms }
        navigation: { fallback: cancel, chain: [{ hosts: [good.example], decision: allow }] }
        \(more)
        """
    }

    /// Runs `body` with a tab that has connected.
    static func with(
        _ configuration: String = configuration(),
        _ body: (ConsoleTrial) async throws -> Void
    ) async throws {
        try await ObserveTrial.with(configuration, files: ["token": "\(token)\n"]) { observed in
            try await Chromium.with { browser in
                let tab = try await browser.openTab()
                try await tab.load("http://127.0.0.1:\(observed.port)/console#token=\(token)")
                let trial = ConsoleTrial(observed: observed, tab: tab)
                _ = try await trial.until("!document.getElementById('content').hidden")
                try await body(trial)
            }
        }
    }

    /// Dispatches actions from the links source, and waits for their outcomes.
    func dispatch(_ actions: [String]) async throws {
        for action in actions { try observed.process.type("app://\(action)") }
        for _ in actions { _ = try #require(await observed.process.output.line(with: "\"source\":\"links\"")) }
    }

    /// Waits until an expression is true in the page, and returns the text of an element.
    @discardableResult
    func until(_ expression: String, text selector: String = "#content") async throws -> String {
        // The page looks itself, so that waiting takes no processor time from other tests.
        try await tab.evaluate(
            "new Promise(found => { const timer = setInterval(() => { if (\(expression)) { clearInterval(timer); found(); } }, 50); })"
        )
        return try await text(of: selector)
    }

    func text(of selector: String) async throws -> String {
        try JSONDecoder().decode(
            String.self,
            from: Data(try await tab.evaluate("document.querySelector('\(selector)').textContent").utf8)
        )
    }

    /// Waits until an element has this text.
    @discardableResult
    func until(_ selector: String, contains text: String) async throws -> String {
        try await until("document.querySelector('\(selector)').textContent.includes(\(quoted(text)))", text: selector)
    }

    func quoted(_ text: String) -> String {
        let data = try? JSONEncoder().encode(text)
        return data.map { String(decoding: $0, as: UTF8.self) } ?? "''"
    }

    /// Fills fields and submits their form.
    func submit(_ form: String, _ fields: [String: String]) async throws {
        for (id, value) in fields {
            try await tab.evaluate("document.getElementById('\(id)').value = \(quoted(value))")
        }
        try await tab.evaluate("document.getElementById('\(form)').requestSubmit()")
    }
}
