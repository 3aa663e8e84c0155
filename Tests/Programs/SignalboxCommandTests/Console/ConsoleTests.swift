import BrokerKit
import Foundation
import SignalboxCore
import TestSupport
import Testing

@testable import SignalboxCommand

// Serialized, because a browser takes a whole processor.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ConsoleTests {
    @Test func everythingThatHappensIsShown() async throws {
        try await ConsoleTrial.with { trial in
            #expect(
                try await trial.tab.evaluate("location.href") == "\"http://127.0.0.1:\(trial.observed.port)/console\""
            )
            try await trial.dispatch(["good", "good", "bad", "unknown"])
            try await trial.until("#plugins", contains: "none")
            try await trial.until("document.querySelectorAll('#actions tr').length >= 4")
            let actions = try await trial.text(of: "#actions")
            #expect(actions.contains("handled") && actions.contains("threw: the plugin 'fail' always fails"))
            #expect(actions.contains("unknownAction"))
            try await trial.until("document.querySelectorAll('#letters tr').length == 2")
            try await trial.until("#letter-count", contains: "2 since the start, 2 in the store")
            try await trial.dispatch(["stuck"])
            try await trial.until("#state", contains: "running, not ready")
            try await trial.until("#problem-list", contains: "links/stuck: a call has timed out")
            let boxes = try await trial.tab.evaluate(
                "[...document.querySelectorAll('.node')].map(n => n.ariaLabel).join()"
            )
            #expect(boxes.contains("source links: links,") && boxes.contains("plugin stuck: stalled"))
            let links = try await trial.tab.evaluate(
                "[...document.querySelectorAll('.link title')].map(n => n.textContent)"
            )
            #expect(links.contains("links to good: ") && links.contains("links to bad: "))
            #expect(trial.tab.console.isEmpty, "\(trial.tab.console)")
        }
    }

    @Test func aBoxIsChosenWithTheKeyboard() async throws {
        try await ConsoleTrial.with { trial in
            try await trial.dispatch(["good", "bad"])
            try await trial.until("document.querySelectorAll('#actions tr').length == 2")
            let key = "new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true })"
            let node = "[...document.querySelectorAll('.node')].find(n => n.dataset.name == 'plugin bad')"
            try await trial.tab.evaluate("(\(node).focus(), \(node).dispatchEvent(\(key)))")
            try await trial.until("document.querySelectorAll('#actions tr').length == 1")
            #expect(try await trial.tab.evaluate("document.activeElement.dataset.name") == "\"plugin bad\"")
            #expect(try await trial.tab.evaluate("\(node).ariaPressed") == "\"true\"")
        }
    }

    @Test func theFormsExplainSendReplayAndShowTheConfiguration() async throws {
        try await ConsoleTrial.with { trial in
            try await trial.submit("explain", ["explain-url": "https://good.example/x"])
            let navigation = try await trial.until("#explanations", contains: "Navigation: allow")
            #expect(navigation.contains("host: decided: allow: the host is listed"))
            try await trial.submit("explain", ["explain-url": "app://good"])
            try await trial.until("#explanations", contains: "links/good: called")
            try await trial.submit("explain", ["explain-url": "", "explain-body": "{}"])
            try await trial.until("#explanations", contains: "add a link with 'url'")
            try await trial.submit("send", ["send-action": "echo", "send-body": "{\"a\": [1]}"])
            let sent = try await trial.until("#send-result", contains: "handled")
            #expect(sent.contains(#""reply":{"a":[1]}"#))
            try await trial.submit("send", ["send-action": "echo", "send-body": "{"])
            try await trial.until("#send-result", contains: "cannot be sent as JSON")
            try await trial.dispatch(["bad"])
            try await trial.until("document.querySelectorAll('#letters button:enabled').length == 1")
            try await trial.tab.evaluate("document.querySelector('#letters button').click()")
            try await trial.until("#letter-result", contains: "will be replayed")
            _ = try #require(await trial.observed.process.output.line(with: "\"action\":\"bad\"", "isRedelivered"))
            try await trial.tab.evaluate("document.getElementById('show-configuration').click()")
            try await trial.until("#configuration", contains: "{ action: good, use: log")
            #expect(try await trial.text(of: "#configuration-file").contains("c.yaml: "))
            #expect(trial.tab.console.isEmpty, "\(trial.tab.console)")
        }
    }

    /// Each control has a name, the headings are in order, and all text is readable on its background.
    @Test func peopleWhoSeeLittleCanUseIt() async throws {
        try await ConsoleTrial.with { trial in
            try await trial.dispatch(["good", "bad", "stuck"])
            try await trial.until("#problem-list", contains: "stuck")
            try await trial.until("document.querySelectorAll('#letters tr').length >= 2")
            try await trial.tab.evaluate("document.getElementById('show-configuration').click()")
            try await trial.until("#configuration", contains: "plugins:")
            for isDark in [false, true] {
                try await trial.tab.prefersDark(isDark)
                #expect(try await trial.tab.evaluate(AccessibilityCheck.script) == "[]", "dark: \(isDark)")
            }
        }
    }

    private static let canaries = [
        "<img src=x onerror=\"document.title='broken'\">", "<script>document.title='broken'</script>",
        "\"><svg onload=document.title='broken'>", "javascript:document.title='broken'", "</td></tr></table><h1>x</h1>",
        "\u{202E}reversed", "{{constructor.constructor('document.title=1')()}}", "&lt;b&gt;", "a\u{0}b\nc",
    ]

    @Test func noTextOfAMessageBecomesMarkup() async throws {
        try await ConsoleTrial.with(ConsoleTrial.configuration("full", "control: c.control")) { trial in
            let texts = Self.canaries + (try Corpus.cases("naughty_strings.json", of: String.self) ?? [])
            let before = try await trial.tab.evaluate("document.title")
            let client = try ControlClient(path: trial.observed.folder.appendingPathComponent("c.control").path)
            for text in texts {
                guard let id = ActionID(String(text.prefix(100))) else { continue }
                _ = try await client.ask(.send(action: "bad", id: id, body: Bytes(trial.quoted(text))))
                guard text.utf8.count < 10_000 else { continue }
                try await trial.submit("explain", ["explain-url": text, "explain-body": text])
            }
            try await trial.until("document.querySelectorAll('#letters tr').length == 50")
            try await trial.until("document.querySelectorAll('.explanation').length == 10")
            let tags = try await trial.tab.evaluate(
                "[...new Set([...document.querySelectorAll('*')].map(n => n.localName))].sort().join(' ')"
            )
            let known: Set = [
                "a", "body", "button", "code", "datalist", "details", "div", "figcaption", "figure", "form", "g", "h1",
                "h2",
                "head", "header", "html", "input", "label", "li", "line", "link", "main", "meta", "ol", "option", "p",
                "path",
                "pre", "rect", "script", "section", "select", "span", "strong", "summary", "svg", "table", "tbody",
                "td", "text",
                "textarea", "th", "thead", "title", "tr", "ul",
            ]
            let found = tags.filter { $0 != "\"" }.split(separator: " ").map(String.init)
            #expect(found.allSatisfy(known.contains), "\(found)")
            #expect(try await trial.tab.evaluate("document.querySelectorAll('script').length") == "1")
            #expect(try await trial.tab.evaluate("document.title") == before)
            #expect(try await trial.text(of: "#actions").contains("<"))
            let hidden = "/[\\u0000-\\u0008\\u202e]/.test(document.body.textContent)"
            #expect(try await trial.tab.evaluate(hidden) == "false")
            #expect(trial.tab.console.isEmpty, "\(trial.tab.console)")
        }
    }

    @Test func aFloodIsASampleThatSaysSo() async throws {
        try await ConsoleTrial.with { trial in
            trial.observed.process.keepTyping("app://good")
            try await trial.until("#sampled", contains: "actions were left out")
            #expect(try await trial.tab.evaluate("document.querySelectorAll('#actions tr').length <= 200") == "true")
            try trial.observed.process.closeInput()
            #expect(trial.tab.console.isEmpty, "\(trial.tab.console)")
        }
    }

    @Test func aWrongTokenAsksAgain() async throws {
        try await ObserveTrial.with(ConsoleTrial.configuration(), files: ["token": "\(ConsoleTrial.token)\n"]) {
            observed in
            try await Chromium.with { browser in
                let tab = try await browser.openTab()
                try await tab.load("http://127.0.0.1:\(observed.port)/console")
                let trial = ConsoleTrial(observed: observed, tab: tab)
                #expect(try await tab.evaluate("document.activeElement.id") == "\"token\"")
                try await trial.submit("login", ["token": "wrong-wrong-wrong"])
                try await trial.until("#login-error", contains: "not the one of 'observe'")
                #expect(try await tab.evaluate("document.getElementById('content').hidden") == "true")
                try await trial.submit("login", ["token": ConsoleTrial.token])
                try await trial.until("!document.getElementById('content').hidden")
                try await tab.reload()
                try await trial.until("!document.getElementById('content').hidden")
                try await tab.evaluate("document.getElementById('leave').click()")
                #expect(try await tab.evaluate("sessionStorage.length") == "0")
                #expect(!trial.tab.console.joined().contains("Content Security Policy"))
            }
        }
    }

    @Test func aConsoleThatOnlyShowsHasNoButtonsToChangeAnything() async throws {
        try await ConsoleTrial.with(ConsoleTrial.configuration("read_only")) { trial in
            try await trial.dispatch(["bad"])
            try await trial.until("document.querySelectorAll('#letters button').length == 1")
            #expect(try await trial.tab.evaluate("document.querySelector('#letters button').disabled") == "true")
            #expect(try await trial.tab.evaluate("document.getElementById('send-section').hidden") == "true")
        }
    }
}

/// What axe and similar programs look for, as far as the console can be wrong about it.
enum AccessibilityCheck {
    /// Evaluates to a list of faults.
    static let script = """
        (() => {
          const faults = [];
          const name = n => (n.ariaLabel || (n.labels && [...n.labels].map(l => l.textContent).join()) || n.textContent || "").trim();
          for (const n of document.querySelectorAll("button, input, select, textarea, [role=button], [role=img], [role=region], [tabindex='0']"))
            if (!name(n) && !n.getAttribute("aria-labelledby")) faults.push(`no name: ${n.outerHTML.slice(0, 80)}`);
          for (const n of document.querySelectorAll("[aria-labelledby], [aria-describedby]"))
            for (const key of ["aria-labelledby", "aria-describedby"])
              for (const id of (n.getAttribute(key) || "").split(" ").filter(Boolean))
                if (!document.getElementById(id)) faults.push(`no element ${id}`);
          const ids = [...document.querySelectorAll("[id]")].map(n => n.id);
          if (new Set(ids).size !== ids.length) faults.push("an id occurs twice");
          const levels = [...document.querySelectorAll("h1, h2, h3")].map(n => Number(n.localName[1]));
          if (levels[0] !== 1 || levels.some((l, i) => i && l > levels[i - 1] + 1)) faults.push(`headings ${levels}`);
          for (const th of document.querySelectorAll("th")) if (!th.scope) faults.push("a heading of a table without scope");
          if (!document.documentElement.lang || !document.title || !document.querySelector("main")) faults.push("no language, title or main");
          const channels = text => (text.match(/[\\d.]+/g) || []).map(Number);
          const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          const back = n => {
            for (let at = n; at; at = at.parentElement) {
              const box = at.localName === "g" ? at.querySelector("rect") : null;
              const color = box ? getComputedStyle(box).fill : getComputedStyle(at).backgroundColor;
              const c = channels(color);
              if (c.length === 3 || (c.length === 4 && c[3] > 0)) return c;
            }
            return [255, 255, 255];
          };
          for (const n of document.querySelectorAll("body *")) {
            const hasText = [...n.childNodes].some(c => c.nodeType === 3 && c.data.trim());
            if (!hasText || n.localName === "title" || n.localName === "option" || n.closest("[hidden]") || n.disabled) continue;
            const style = getComputedStyle(n);
            const [a, b] = [light(channels(n.closest("svg") ? style.fill : style.color)), light(back(n))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) faults.push(`contrast ${ratio.toFixed(2)}: ${n.localName} ${n.className.baseVal ?? n.className} ${n.textContent.slice(0, 30)}`);
          }
          return faults;
        })()
        """
}
