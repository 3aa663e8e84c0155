/// Receives what happens to the whole listener. All methods are called on the listener's thread.
package protocol ListenerReceiver: AnyObject {
    /// Called with the port that the listener has, before any other method.
    func listens(on port: UInt16)
    /// Called when all available data has been read.
    func passEnded()
    /// Called about every half second.
    func ticked()
    /// Called when a connection was cut before its request, because the process is almost out of descriptors.
    func descriptorsExhausted()
    /// Called when an HTTP connection was closed to make room for another.
    func evicted()
    /// Called when a connection was closed on arrival or at its first request, because the limit of HTTP connections was
    /// reached.
    func limitReached()
}
