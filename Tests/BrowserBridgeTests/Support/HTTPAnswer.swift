import BrokerKit
import Foundation

/// What a server answers a plain GET.
struct HTTPAnswer: Sendable {
    let status: Int
    /// By name in lower case.
    let headers: [String: String]
    let body: String

    init(_ port: UInt16, _ path: String) async throws {
        let socket = try LoopbackPort.makeSocket()
        let bytes = await withCheckedContinuation { (continuation: CheckedContinuation<[UInt8], Never>) in
            Thread.detachNewThread { continuation.resume(returning: HTTPAnswer.ask(socket, port, path)) }
        }
        close(socket)
        let parts = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n\r\n")
        let lines = parts[0].components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        status = words.count > 1 ? Int(words[1]) ?? 0 : 0
        let pairs = lines.dropFirst().compactMap { line -> (String, String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            return (line[..<colon].lowercased(), value)
        }
        headers = Dictionary(pairs) { $1 }
        body = parts.dropFirst().joined(separator: "\r\n\r\n")
    }

    private static func ask(_ socket: Int32, _ port: UInt16, _ path: String) -> [UInt8] {
        guard LoopbackPort.connects(socket, to: port) else { return [] }
        let request = Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n".utf8)
        _ = send(socket, request, request.count, Int32(MSG_NOSIGNAL))
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }
}
