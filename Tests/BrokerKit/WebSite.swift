import Foundation
import SignalboxTesting
import Synchronization

/// A web server of a test: answers by path, on an origin of its own. One answer per connection.
public final class WebSite: Sendable {
    /// What is answered.
    public struct Answer: Sendable {
        let status: String
        let headers: [String: String]
        let body: String

        /// An answer with its status line's end, such as `200 OK`, and headers.
        public init(_ status: String = "200 OK", headers: [String: String] = [:], body: String = "") {
            self.status = status
            self.headers = headers
            self.body = body
        }

        /// A page.
        public static func html(_ body: String, headers: [String: String] = [:]) -> Answer {
            Answer(headers: ["Content-Type": "text/html; charset=utf-8"].merging(headers) { $1 }, body: body)
        }

        /// The same with other texts in body and headers.
        public func changed(_ change: (String) -> String) -> Answer {
            Answer(status, headers: headers.mapValues(change), body: change(body))
        }

        /// The way to another URL.
        public static func redirect(to url: String) -> Answer {
            Answer("302 Found", headers: ["Location": url])
        }
    }

    /// The port it listens on.
    public let port: UInt16
    private let listener: Int32
    private let answers = Mutex<[String: Answer]>([:])
    private let heard = Watched<[String]>([])

    /// Starts to listen, until ``close()``.
    public init() throws {
        (listener, port) = try LoopbackPort.listening()
        Thread.detachNewThread { self.serve() }
    }

    /// The origin of its pages.
    public var origin: String { "http://127.0.0.1:\(port)" }

    /// Puts an answer at a path.
    public func set(_ path: String, _ answer: Answer) {
        answers.withLock { $0[path] = answer }
    }

    /// What was asked for, in order: each request's head.
    public var requests: [String] { heard.value }

    /// Waits for the first request whose head has the text.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    @discardableResult
    public func request(
        containing text: String,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws -> String {
        await heard.until(file: file, line: line) { $0.contains { $0.contains(text) } }
        guard let request = heard.value.first(where: { $0.contains(text) }) else { throw CancellationError() }
        return request
    }

    /// Stops listening; an answer on its way is not cut.
    public func close() {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func serve() {
        while true {
            let client = LoopbackPort.accept(on: listener)
            guard client >= 0 else { break }
            Thread.detachNewThread { self.answer(client) }
        }
        Foundation.close(listener)
    }

    private func answer(_ client: Int32) {
        defer { Foundation.close(client) }
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while request.suffix(4) != Array("\r\n\r\n".utf8) {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0, request.count < 65_536 else { return }
            request += buffer[..<count]
        }
        let head = String(decoding: request, as: UTF8.self)
        let words = head.split(separator: " ", maxSplits: 2)
        let path = words.count > 1 ? String(words[1].prefix { $0 != "?" }) : "/"
        heard.change { $0.append(head) }
        send(answers.withLock { $0[path] } ?? Answer("404 Not Found", body: "nothing is here"), to: client)
    }

    private func send(_ answer: Answer, to client: Int32) {
        let bodyLength = answer.body.utf8.count
        var text = "HTTP/1.1 \(answer.status)\r\nContent-Length: \(bodyLength)\r\nConnection: close\r\n"
        for (name, value) in answer.headers { text += "\(name): \(value)\r\n" }
        var rest = Array((text + "\r\n" + answer.body).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.send(client, $0.baseAddress, $0.count, FakeBroker.noSignal) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
