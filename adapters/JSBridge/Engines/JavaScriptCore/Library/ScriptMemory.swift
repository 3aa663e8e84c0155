/// What a page's objects take, in bytes.
struct ScriptMemory {
    /// With what was freed since the last collection, and what the heap keeps ready.
    let sinceCollection: Int
    /// As the last collection found it.
    let afterCollection: Int
}
