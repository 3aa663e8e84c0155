import AdapterSupport
import SignalboxCore

/// A WebSocket of a client (RFC 6455) over another link, as a connection that carries bytes in binary messages.
///
/// The borders of messages have no meaning: a read returns the data of several, and each write begins messages of its
/// own. Received data is not copied, but moved together in the caller's buffer. Data to send is copied once, when it is
/// masked.
package final class WebSocketLink: Link {
    private enum Phase {
        /// Before the server's answer is complete.
        case upgrade(UpgradeExchange)
        case open
        /// After ``finish()``. Only a close frame is still sent.
        case finished
        case failed(LinkError)
    }

    private let inner: any Link
    private var phase: Phase
    private var reader = FrameReader()
    private var writer = FrameWriter()
    /// How many bytes of the last frame with data ``write(_:)`` has not yet reported as written.
    private var unreported = 0
    /// The content of the last ping, as long as it is not answered. Earlier ones need no answer (RFC 6455, 5.5.3).
    private var pong: [UInt8]?
    /// The status of the close frame to send.
    private var closing: UInt16?
    /// The error of a write, after which nothing is sent. The server's last bytes may still be there to read.
    private var writeFailure: LinkError?
    private var isInnerFinished = false
    /// Whether the error was found behind data that the caller got first.
    private var hasUnreadFailure = false
    /// The server's first frames, which came with its answer.
    private var first: ArraySlice<UInt8> = []

    /// - Parameter inner: The link, which only this one may use from now on.
    package init(over inner: any Link, _ upgrade: WebSocketUpgrade) {
        self.inner = inner
        phase = .upgrade(UpgradeExchange(upgrade))
    }

    package var descriptor: Int32 { inner.descriptor }

    package var waitsForWrite: Bool {
        if inner.waitsForWrite { return true }
        switch phase {
        case .upgrade(let exchange): return exchange.waitsForWrite
        case .open, .finished: return writeFailure == nil && !writer.isEmpty
        case .failed: return false
        }
    }

    package var mayHaveMore: Bool {
        if case .failed = phase { return hasUnreadFailure }
        return !first.isEmpty || inner.mayHaveMore
    }

    package var certificateRequest: CertificateRequest? { inner.certificateRequest }

    // MARK: - The upgrade

    package func advance() throws(LinkError) -> Bool {
        if case .failed(let error) = phase { throw error }
        guard case .upgrade(var exchange) = phase else { return true }
        do throws(LinkError) {
            let isComplete = try exchange.advance(over: inner)
            if isComplete { first = exchange.first }
            phase = isComplete ? .open : .upgrade(exchange)
            return isComplete
        } catch {
            throw fail(error)
        }
    }

    // MARK: - Reading

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(LinkError) -> Int {
        switch phase {
        case .failed(let error):
            hasUnreadFailure = false
            throw error
        case .upgrade: return 0
        case .open, .finished: break
        }
        guard !buffer.isEmpty else { return 0 }
        sendWaiting()
        let count: Int
        do throws(LinkError) {
            count = try receive(into: buffer)
        } catch {
            throw fail(error == .closed && !reader.isBetweenMessages ? .reset(WebSocketLink.cutText) : error)
        }
        let filled = unwrap(buffer, count)
        // Pings are answered at once.
        if pong != nil { sendWaiting() }
        guard case .failed(let error) = phase else { return filled }
        guard filled > 0 else { throw error }
        hasUnreadFailure = true
        return filled
    }

    private static let cutText = "the connection ended in the middle of a WebSocket message"

    private func receive(into buffer: UnsafeMutableRawBufferPointer) throws(LinkError) -> Int {
        guard !first.isEmpty else { return try inner.read(into: buffer) }
        let part = first.prefix(buffer.count)
        buffer.copyBytes(from: part)
        first = part.count < first.count ? first.dropFirst(part.count) : []
        return part.count
    }

    /// Moves the data of the frames in the buffer to its start.
    ///
    /// - Returns: The number of bytes of data. If the frames end the connection, the phase is `failed` afterwards.
    private func unwrap(_ buffer: UnsafeMutableRawBufferPointer, _ count: Int) -> Int {
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<max(0, min(count, buffer.count))])
        var (offset, filled) = (0, 0)
        do throws(FrameViolation) {
            while let piece = try reader.next(in: bytes, at: &offset) {
                switch piece {
                case .data(let range):
                    if range.lowerBound != filled {
                        // The data only moves towards the start, over frames that were read already.
                        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<(filled + range.count)])
                        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[range]))
                    }
                    filled += range.count
                case .ping: pong = reader.control
                case .pong: break
                case .close(let status):
                    endAfterClose(status)
                    return filled
                }
            }
        } catch {
            end(with: error.status, .reset("the server \(error.text)"))
        }
        return filled
    }

    private func endAfterClose(_ status: UInt16?) {
        var error = LinkError.closed
        if let status, status != 1000, status != 1001 {
            let reason = reader.closeReason
            let quoted = reason.isEmpty ? "" : ": \"\(LineText.escaped(reason, limit: 256))\""
            error = .reset("the server closed the WebSocket with status \(status)\(quoted)")
        }
        end(with: status ?? 1000, error)
    }

    /// Answers the server's close frame, or a violation, if the link below accepts it at once.
    private func end(with status: UInt16, _ error: LinkError) {
        if case .open = phase { closing = status }
        pong = nil
        sendWaiting()
        finishInner()
        _ = fail(error)
    }

    // MARK: - Writing

    package func write(_ bytes: UnsafeRawBufferPointer) throws(LinkError) -> Int {
        if case .failed(let error) = phase { throw error }
        if let writeFailure { throw writeFailure }
        guard case .open = phase else { return 0 }
        var written = 0
        do throws(LinkError) {
            while true {
                try flush()
                // What the link below has not taken is the end of the data. If it is a control frame behind the data, the
                // report only comes later.
                let sent = min(unreported - min(unreported, writer.unsentBytes), bytes.count - written)
                unreported -= sent
                written += sent
                guard writer.isEmpty, written < bytes.count else { return written }
                let part = UnsafeRawBufferPointer(rebasing: bytes[written...].prefix(FrameWriter.contentLimit))
                writer.begin(.binary, part)
                unreported = part.count
            }
        } catch {
            throw failWrite(error)
        }
    }

    package func finish() {
        switch phase {
        case .upgrade, .failed: finishInner()
        case .finished: break
        case .open:
            phase = .finished
            closing = 1000
            sendWaiting()
            // Nothing follows the close frame, so that TLS can be closed properly as well.
            if writer.isEmpty, writeFailure == nil { finishInner() }
        }
    }

    private func finishInner() {
        guard !isInnerFinished else { return }
        isInnerFinished = true
        inner.finish()
    }

    /// Sends the frame that was begun, then an answer to a ping, then a close frame. All of them may stay for later.
    private func flush() throws(LinkError) {
        while true {
            try writer.send(to: inner)
            guard writer.isEmpty else { return }
            if let content = pong {
                pong = nil
                content.withUnsafeBytes { writer.begin(.pong, $0) }
            } else if let status = closing {
                closing = nil
                withUnsafeBytes(of: status.bigEndian) { writer.begin(.close, $0) }
            } else {
                return
            }
        }
    }

    /// Sends what can be sent. A failed write is reported by the next call of ``write(_:)``.
    private func sendWaiting() {
        guard writeFailure == nil else { return }
        do throws(LinkError) { try flush() } catch { _ = failWrite(error) }
    }

    private func failWrite(_ error: LinkError) -> LinkError {
        writeFailure = error
        return error
    }

    private func fail(_ error: LinkError) -> LinkError {
        phase = .failed(error)
        return error
    }
}
