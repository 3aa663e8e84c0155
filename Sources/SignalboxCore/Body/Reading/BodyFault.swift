/// The reader's finding before it becomes a ``BodyError``: trivial, so that throwing it costs nothing.
struct BodyFault: Error {
    let code: BodyError.Code
    /// Position in the buffer that was read.
    let position: Int
}
