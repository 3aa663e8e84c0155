import ArgumentParser
import SignalboxCore

/// The form in which `test` shows results.
enum TestFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// Lines for people.
    case text
    /// One JSON object a line.
    case json
    /// The Test Anything Protocol, version 14.
    case tap
    /// The XML of JUnit, as continuous integration reads it.
    case junit
}

/// Formats the results of the tests of one configuration.
struct TestReport {
    /// The path of the file with the tests, as the user gave it.
    let file: String
    let results: [TestResult]

    var failures: Int { results.count { !$0.passes } }

    /// The results, with a newline at the end.
    func bytes(as format: TestFormat) -> [UInt8] {
        switch format {
        case .text: results.flatMap(textLines)
        case .json: results.flatMap(jsonLine)
        case .tap: Array(tap.utf8)
        case .junit: Array(junit.utf8)
        }
    }

    private var shownFile: String { RawArguments.shown(file) }

    /// Returns `ok` or `not ok` with the name. If the test fails, the position, the differences and the reason follow.
    private func textLines(_ result: TestResult) -> [UInt8] {
        let mark = TerminalText.column(
            result.passes ? "ok" : "not ok",
            width: 6,
            color: result.passes ? .green : .red
        )
        let name = LineEscape.escaped(result.test.name)
        guard !result.passes else { return TerminalText.line([mark, name]) }
        let place = LineEscape.escaped("\(file):\(result.test.line)")
        let notes = result.differences.map(\.description) + [result.reason]
        return TerminalText.line([mark, name, "(\(place))"])
            + notes.flatMap { TerminalText.line(["      ", LineEscape.escaped($0)]) }
    }

    /// Returns a result as one JSON object. Its members are `name`, `file`, `line`, `passes`, `found`, `stage` and
    /// `detail`, and if the test fails, `differences`.
    private func jsonLine(_ result: TestResult) -> [UInt8] {
        var object = JSONObject()
        object.add("name", result.test.name)
        object.add("file", shownFile)
        object.add("line", result.test.line)
        object.add("passes", result.passes)
        object.add("found") { object in
            for member in TestMember.allCases { object.add(member.rawValue, result.finding.values[member]) }
        }
        object.add("stage", result.finding.stage)
        object.add("detail", result.finding.detail)
        if !result.passes {
            object.add("differences", objects: result.differences) { difference, object in
                object.add("member", difference.member.rawValue)
                object.add("expected", difference.expected)
                object.add("found", difference.found)
            }
        }
        return object.line
    }

    /// The results in version 14 of the Test Anything Protocol (testanything.org), with a YAML block for each failure.
    private var tap: String {
        var lines = ["TAP version 14", "1..\(results.count)"]
        for (index, result) in results.enumerated() {
            let name = LineEscape.escaped(result.test.name).replacing("\\", with: "\\\\").replacing("#", with: "\\#")
            lines.append("\(result.passes ? "ok" : "not ok") \(index + 1) - \(name)")
            guard !result.passes else { continue }
            // A JSON string is also a YAML string.
            lines += ["  ---", "  message: \(JSONText.quoted(result.message))", "  severity: fail"]
            lines += ["  at:", "    file: \(JSONText.quoted(shownFile))", "    line: \(result.test.line)"]
            lines += ["  reason: \(JSONText.quoted(result.reason))", "  ..."]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The results as `testsuites` with one `testsuite`.
    private var junit: String {
        let total = XMLText.seconds(results.reduce(.zero) { $0 + $1.duration })
        let counts = #"tests="\#(results.count)" failures="\#(failures)" errors="0" skipped="0" time="\#(total)""#
        let name = XMLText.escaped(shownFile)
        var lines = [
            #"<?xml version="1.0" encoding="UTF-8"?>"#, "<testsuites \(counts)>",
            #"  <testsuite name="\#(name)" \#(counts)>"#,
        ]
        for result in results { lines += testCase(result, in: name) }
        return (lines + ["  </testsuite>", "</testsuites>"]).joined(separator: "\n") + "\n"
    }

    /// - Parameter file: The path of the file, escaped.
    private func testCase(_ result: TestResult, in file: String) -> [String] {
        let name = XMLText.escaped(result.test.name)
        let place = #"file="\#(file)" line="\#(result.test.line)" time="\#(XMLText.seconds(result.duration))""#
        let element = #"    <testcase classname="\#(file)" name="\#(name)" \#(place)"#
        guard !result.passes else { return ["\(element)/>"] }
        let message = XMLText.escaped(result.message)
        let notes = (result.differences.map(\.description) + [result.reason]).map(XMLText.escaped)
        let content = notes.joined(separator: "\n")
        let failure = #"      <failure message="\#(message)" type="notAsExpected">\#(content)</failure>"#
        return ["\(element)>", failure, "    </testcase>"]
    }
}

extension TestResult {
    /// All differences on one line.
    fileprivate var message: String { differences.map(\.description).joined(separator: "; ") }
}

extension JSONObject {
    /// Adds a value. If it is `nil`, no member is added.
    fileprivate mutating func add(_ name: String, _ value: TestValue?) {
        switch value {
        case .text(let text): add(name, text)
        case .json(let json): add(name, json: TestValue.encoded(json))
        case .unknown, nil: break
        }
    }
}

/// Formats values for XML 1.0.
enum XMLText {
    private static let named: [Unicode.Scalar: String] = [
        "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&apos;",
    ]

    /// Returns text for an element or an attribute in quotes. Control characters, most of which XML does not allow at all,
    /// and the two noncharacters that it does not allow are shown as in other output.
    static func escaped(_ text: String) -> String {
        LineEscape.escaped(text).unicodeScalars.reduce(into: "") { result, scalar in
            let isForbidden = scalar.value == 0xFFFE || scalar.value == 0xFFFF
            result += isForbidden ? scalar.lineEscape : named[scalar] ?? String(scalar)
        }
    }

    /// Returns seconds with six decimals, whatever the locale.
    static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return "\(seconds).\(String(1_000_000 + attoseconds / 1_000_000_000_000).dropFirst())"
    }
}
