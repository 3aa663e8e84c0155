import Testing

extension Comment {
    /// Of an expectation about how a process ends that runs a chain of promises. On a busy machine a thread of
    /// JavaScriptCore's was seen to abort it, in about one of thirty runs. What else is found in it has other comments.
    static let mayAbort: Comment = "JavaScriptCore 2.50 may abort the process"
}
