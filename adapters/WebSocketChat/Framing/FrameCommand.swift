/// What may be asked of a connection besides sending text. A command for a connection that is no more does nothing.
enum FrameCommand: Equatable, Sendable {
    /// Sends a ping; the answer comes as `ponged`.
    case ping
    /// Closes after all that was sent before: the code must be sendable, the reason is cut to the limit.
    case close(CloseCode, reason: String)
    /// Closes at once; what waits to be sent is dropped, and nothing more is taken. A peer that takes nothing does not even
    /// get the code: then the connection ends after ``TransportLimits/connectWithin``, at most 5 seconds.
    case cut(CloseCode, reason: String)
    /// Reads no more, until `resume`.
    case pause
    /// Reads on; nothing was lost.
    case resume
}
