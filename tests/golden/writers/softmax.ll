define void @softmax(ptr %buffers, ptr %symbols, i64 %begin, i64 %end, ptr %error, ptr %scratch) #0 {
entry:
  %t0 = getelementptr ptr, ptr %buffers, i64 0
  %t1 = load ptr, ptr %t0, align 8
  %t2 = getelementptr ptr, ptr %buffers, i64 1
  %t3 = load ptr, ptr %t2, align 8
  %t4 = getelementptr i8, ptr %scratch, i64 0
  %t5 = icmp slt i64 %begin, %end
  br i1 %t5, label %some0, label %done1
some0:
  br label %loop2
loop2:
  %i0.loop2 = phi i64 [ %begin, %some0 ], [ %i0.loop2.next, %after8 ]
  %t10 = mul nsw i64 %i0.loop2, 1024
  %t11 = getelementptr float, ptr %t1, i64 %t10
  br label %loop3
loop3:
  %i1.loop3 = phi i64 [ 0, %loop2 ], [ %i1.loop3.next, %loop3 ]
  %t6 = phi <16 x float> [ splat (float 0xFFF0000000000000), %loop2 ], [ %t23, %loop3 ]
  %t7 = phi <16 x float> [ splat (float 0xFFF0000000000000), %loop2 ], [ %t27, %loop3 ]
  %t8 = phi <16 x float> [ splat (float 0xFFF0000000000000), %loop2 ], [ %t31, %loop3 ]
  %t9 = phi <16 x float> [ splat (float 0xFFF0000000000000), %loop2 ], [ %t35, %loop3 ]
  %t12 = getelementptr float, ptr %t11, i64 %i1.loop3
  %t13 = load <16 x float>, ptr %t12, align 4
  %t14 = getelementptr float, ptr %t12, i64 16
  %t15 = load <16 x float>, ptr %t14, align 4
  %t16 = getelementptr float, ptr %t12, i64 32
  %t17 = load <16 x float>, ptr %t16, align 4
  %t18 = getelementptr float, ptr %t12, i64 48
  %t19 = load <16 x float>, ptr %t18, align 4
  %t20 = fcmp ogt <16 x float> %t13, %t6
  %t21 = select <16 x i1> %t20, <16 x float> %t13, <16 x float> %t6
  %t22 = fcmp uno <16 x float> %t13, %t13
  %t23 = select <16 x i1> %t22, <16 x float> %t13, <16 x float> %t21
  %t24 = fcmp ogt <16 x float> %t15, %t7
  %t25 = select <16 x i1> %t24, <16 x float> %t15, <16 x float> %t7
  %t26 = fcmp uno <16 x float> %t15, %t15
  %t27 = select <16 x i1> %t26, <16 x float> %t15, <16 x float> %t25
  %t28 = fcmp ogt <16 x float> %t17, %t8
  %t29 = select <16 x i1> %t28, <16 x float> %t17, <16 x float> %t8
  %t30 = fcmp uno <16 x float> %t17, %t17
  %t31 = select <16 x i1> %t30, <16 x float> %t17, <16 x float> %t29
  %t32 = fcmp ogt <16 x float> %t19, %t9
  %t33 = select <16 x i1> %t32, <16 x float> %t19, <16 x float> %t9
  %t34 = fcmp uno <16 x float> %t19, %t19
  %t35 = select <16 x i1> %t34, <16 x float> %t19, <16 x float> %t33
  %i1.loop3.sum = add nuw nsw i64 %i1.loop3, 64
  %i1.loop3.next = call i64 asm "", "=r,0"(i64 %i1.loop3.sum)
  %i1.loop3.more = icmp slt i64 %i1.loop3.next, 1024
  br i1 %i1.loop3.more, label %loop3, label %after4
after4:
  %t36 = fcmp ogt <16 x float> %t27, %t23
  %t37 = select <16 x i1> %t36, <16 x float> %t27, <16 x float> %t23
  %t38 = fcmp uno <16 x float> %t27, %t27
  %t39 = select <16 x i1> %t38, <16 x float> %t27, <16 x float> %t37
  %t40 = fcmp ogt <16 x float> %t35, %t31
  %t41 = select <16 x i1> %t40, <16 x float> %t35, <16 x float> %t31
  %t42 = fcmp uno <16 x float> %t35, %t35
  %t43 = select <16 x i1> %t42, <16 x float> %t35, <16 x float> %t41
  %t44 = fcmp ogt <16 x float> %t43, %t39
  %t45 = select <16 x i1> %t44, <16 x float> %t43, <16 x float> %t39
  %t46 = fcmp uno <16 x float> %t43, %t43
  %t47 = select <16 x i1> %t46, <16 x float> %t43, <16 x float> %t45
  %t48 = shufflevector <16 x float> %t47, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t49 = shufflevector <16 x float> %t47, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %t50 = fcmp ogt <8 x float> %t49, %t48
  %t51 = select <8 x i1> %t50, <8 x float> %t49, <8 x float> %t48
  %t52 = fcmp uno <8 x float> %t49, %t49
  %t53 = select <8 x i1> %t52, <8 x float> %t49, <8 x float> %t51
  %t54 = shufflevector <8 x float> %t53, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t55 = shufflevector <8 x float> %t53, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t56 = fcmp ogt <4 x float> %t55, %t54
  %t57 = select <4 x i1> %t56, <4 x float> %t55, <4 x float> %t54
  %t58 = fcmp uno <4 x float> %t55, %t55
  %t59 = select <4 x i1> %t58, <4 x float> %t55, <4 x float> %t57
  %t60 = shufflevector <4 x float> %t59, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t61 = shufflevector <4 x float> %t59, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t62 = fcmp ogt <2 x float> %t61, %t60
  %t63 = select <2 x i1> %t62, <2 x float> %t61, <2 x float> %t60
  %t64 = fcmp uno <2 x float> %t61, %t61
  %t65 = select <2 x i1> %t64, <2 x float> %t61, <2 x float> %t63
  %t66 = extractelement <2 x float> %t65, i64 0
  %t67 = extractelement <2 x float> %t65, i64 1
  %t68 = fcmp ogt float %t67, %t66
  %t69 = select i1 %t68, float %t67, float %t66
  %t70 = fcmp uno float %t67, %t67
  %t71 = select i1 %t70, float %t67, float %t69
  %t73 = mul nsw i64 %i0.loop2, 1024
  %t74 = getelementptr float, ptr %t1, i64 %t73
  %t77 = insertelement <16 x float> poison, float %t71, i64 0
  %t78 = shufflevector <16 x float> %t77, <16 x float> poison, <16 x i32> zeroinitializer
  br label %loop5
loop5:
  %i2.loop5 = phi i64 [ 0, %after4 ], [ %i2.loop5.next, %loop5 ]
  %t72 = phi <16 x float> [ splat (float 0x0000000000000000), %after4 ], [ %t97, %loop5 ]
  %t75 = getelementptr float, ptr %t74, i64 %i2.loop5
  %t76 = load <16 x float>, ptr %t75, align 4
  %t79 = fsub contract <16 x float> %t76, %t78
  %t80 = fcmp olt <16 x float> splat (float 0x4056400000000000), %t79
  %t81 = select <16 x i1> %t80, <16 x float> splat (float 0x4056400000000000), <16 x float> %t79
  %t82 = fcmp ogt <16 x float> splat (float 0xC05A000000000000), %t81
  %t83 = select <16 x i1> %t82, <16 x float> splat (float 0xC05A000000000000), <16 x float> %t81
  %t84 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t83, <16 x float> splat (float 0x3FF7154760000000), <16 x float> splat (float 0x4168000000000000))
  %t85 = fsub <16 x float> %t84, splat (float 0x4168000000000000)
  %t86 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t85, <16 x float> splat (float 0xBFE6300000000000), <16 x float> %t83)
  %t87 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t85, <16 x float> splat (float 0x3F2BD01060000000), <16 x float> %t86)
  %t88 = call <16 x float> @llvm.fma.v16f32(<16 x float> splat (float 0x3F56A1EA00000000), <16 x float> %t87, <16 x float> splat (float 0x3F8123D400000000))
  %t89 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t88, <16 x float> %t87, <16 x float> splat (float 0x3FA5559060000000))
  %t90 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t89, <16 x float> %t87, <16 x float> splat (float 0x3FC55548C0000000))
  %t91 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t90, <16 x float> %t87, <16 x float> splat (float 0x3FDFFFFFC0000000))
  %t92 = fmul <16 x float> %t91, %t87
  %t93 = call <16 x float> @llvm.fma.v16f32(<16 x float> %t92, <16 x float> %t87, <16 x float> %t87)
  %t94 = fadd <16 x float> %t93, splat (float 0x3FF0000000000000)
  %t95 = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %t94, <16 x float> %t85, <16 x float> zeroinitializer, i16 -1, i32 4)
  %t96 = getelementptr float, ptr %t4, i64 %i2.loop5
  store <16 x float> %t95, ptr %t96, align 4
  %t97 = fadd contract <16 x float> %t72, %t95
  %i2.loop5.sum = add nuw nsw i64 %i2.loop5, 16
  %i2.loop5.next = call i64 asm "", "=r,0"(i64 %i2.loop5.sum)
  %i2.loop5.more = icmp slt i64 %i2.loop5.next, 1024
  br i1 %i2.loop5.more, label %loop5, label %after6
after6:
  %t98 = shufflevector <16 x float> %t97, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t99 = shufflevector <16 x float> %t97, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %t100 = fadd contract <8 x float> %t98, %t99
  %t101 = shufflevector <8 x float> %t100, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t102 = shufflevector <8 x float> %t100, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t103 = fadd contract <4 x float> %t101, %t102
  %t104 = shufflevector <4 x float> %t103, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t105 = shufflevector <4 x float> %t103, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t106 = fadd contract <2 x float> %t104, %t105
  %t107 = extractelement <2 x float> %t106, i64 0
  %t108 = extractelement <2 x float> %t106, i64 1
  %t109 = fadd contract float %t107, %t108
  %t110 = fdiv float 0x3FF0000000000000, %t109
  %t119 = insertelement <16 x float> poison, float %t110, i64 0
  %t120 = shufflevector <16 x float> %t119, <16 x float> poison, <16 x i32> zeroinitializer
  %t125 = mul nsw i64 %i0.loop2, 1024
  %t126 = getelementptr float, ptr %t3, i64 %t125
  br label %loop7
loop7:
  %i3.loop7 = phi i64 [ 0, %after6 ], [ %i3.loop7.next, %loop7 ]
  %t111 = getelementptr float, ptr %t4, i64 %i3.loop7
  %t112 = load <16 x float>, ptr %t111, align 4
  %t113 = getelementptr float, ptr %t111, i64 16
  %t114 = load <16 x float>, ptr %t113, align 4
  %t115 = getelementptr float, ptr %t111, i64 32
  %t116 = load <16 x float>, ptr %t115, align 4
  %t117 = getelementptr float, ptr %t111, i64 48
  %t118 = load <16 x float>, ptr %t117, align 4
  %t121 = fmul contract <16 x float> %t112, %t120
  %t122 = fmul contract <16 x float> %t114, %t120
  %t123 = fmul contract <16 x float> %t116, %t120
  %t124 = fmul contract <16 x float> %t118, %t120
  %t127 = getelementptr float, ptr %t126, i64 %i3.loop7
  store <16 x float> %t121, ptr %t127, align 4
  %t128 = getelementptr float, ptr %t127, i64 16
  store <16 x float> %t122, ptr %t128, align 4
  %t129 = getelementptr float, ptr %t127, i64 32
  store <16 x float> %t123, ptr %t129, align 4
  %t130 = getelementptr float, ptr %t127, i64 48
  store <16 x float> %t124, ptr %t130, align 4
  %i3.loop7.sum = add nuw nsw i64 %i3.loop7, 64
  %i3.loop7.next = call i64 asm "", "=r,0"(i64 %i3.loop7.sum)
  %i3.loop7.more = icmp slt i64 %i3.loop7.next, 1024
  br i1 %i3.loop7.more, label %loop7, label %after8
after8:
  %i0.loop2.sum = add nuw nsw i64 %i0.loop2, 1
  %i0.loop2.next = call i64 asm "", "=r,0"(i64 %i0.loop2.sum)
  %i0.loop2.more = icmp slt i64 %i0.loop2.next, %end
  br i1 %i0.loop2.more, label %loop2, label %after9
after9:
  br label %done1
done1:
  ret void
}

declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32)

attributes #0 = { nounwind }
