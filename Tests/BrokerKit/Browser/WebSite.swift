import Foundation
import SignalboxTesting
import Synchronization

/// A test's web server, which serves answers by path on a separate origin. Each connection gets one answer.
public final class WebSite: Sendable {
    /// An HTTP response.
    public struct Answer: Sendable {
        let status: String
        let headers: [String: String]
        let body: String

        /// Creates a response with headers and the end of a status line, such as `200 OK`.
        public init(_ status: String = "200 OK", headers: [String: String] = [:], body: String = "") {
            self.status = status
            self.headers = headers
            self.body = body
        }

        /// Returns an HTML page.
        public static func html(_ body: String, headers: [String: String] = [:]) -> Answer {
            Answer(headers: ["Content-Type": "text/html; charset=utf-8"].merging(headers) { $1 }, body: body)
        }

        /// Returns the response with body and header values transformed by `change`.
        public func changed(_ change: (String) -> String) -> Answer {
            Answer(status, headers: headers.mapValues(change), body: change(body))
        }

        /// Returns a redirect to another URL.
        public static func redirect(to url: String) -> Answer {
            Answer("302 Found", headers: ["Location": url])
        }
    }

    /// The listening port.
    public let port: UInt16
    private let listener: Int32
    private let answers = Mutex<[String: Answer]>([:])
    private let received = Watched<[String]>([])

    /// Listens until ``close()``.
    public init() throws {
        (listener, port) = try LoopbackPort.listening()
        Thread.detachNewThread { self.serve() }
    }

    /// The origin of the site's pages.
    public var origin: String { "http://127.0.0.1:\(port)" }

    /// Sets the response for a path.
    public func set(_ path: String, _ answer: Answer) {
        answers.withLock { $0[path] = answer }
    }

    /// The heads of all requests, in order.
    public var requests: [String] { received.value }

    /// Waits for the first request whose head contains the text.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    @discardableResult
    public func request(
        containing text: String,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws -> String {
        await received.until(file: file, line: line) { $0.contains { $0.contains(text) } }
        guard let request = received.value.first(where: { $0.contains(text) }) else { throw CancellationError() }
        return request
    }

    /// Stops listening. A response in progress is completed.
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
        received.change { $0.append(head) }
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
