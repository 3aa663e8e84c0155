/// What is known of a connection that is not read from.
struct LibraryPause {
    /// Until when the library need not be told that the peer is there; `nil` before it was told once.
    var validUntil: ContinuousClock.Instant?
    /// When the connection is given up, as the peer has finished; what it sent before is read if it is resumed until then.
    var givenUpAt: ContinuousClock.Instant?
}
