/// libFuzzer calls this before it reads its corpus: it writes the seeds to the folder that the environment names.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    SeedFolder.fill()
    return 0
}

/// libFuzzer calls this for each input: the first byte chooses the target, which gets the rest.
///
/// A trap is a finding, and each broken invariant traps.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    guard let first = input.first else { return 0 }
    WireTarget(selector: first).run(Array(input.dropFirst()))
    return 0
}
