/// One entry of the index that the reader leaves over a body's bytes.
@usableFromInline
package struct BodyNode: Sendable {
    @usableFromInline var start: UInt32
    @usableFromInline var length: UInt32
    @usableFromInline var next: UInt32
    @usableFromInline var kind: UInt32
}
