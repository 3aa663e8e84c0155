extension Sender {
    /// Hands an action over for sending, its body written as JSON; no answer is expected.
    ///
    /// - Throws: ``SendRefused`` when it will not be sent, ``BodyError`` when the value has no JSON form.
    public func send(_ action: ActionName, _ body: some Encodable) throws {
        try send(action, id: nil, body: BodyWriter.write(body))
    }
}
